// What a process reaches of archives outside of tables: containers of the blob store, and directories that its operator
// allows. A value; used from one strand.
#pragma once
#include <memory>

#include "jobs/kinds/archive/object_archive.h"
#include "jobs/objects/file_tree.h"
#include "jobs/objects/object_store.h"
#include "table_store/client/table_client.h"

namespace tidemark::jobs {

struct ObjectAccess {
  blob_store::BlobClient* blobs = nullptr;  // absent: no containers. Outlives all use
  std::vector<FileDirectory> directories = {};
};

/// kJobInvalid: this process does not reach it.
Result<std::unique_ptr<ObjectStore>> open_archive(const ObjectAccess& access, table_store::TableClient& tables,
                                                  const ObjectArchive& archive);

}  // namespace tidemark::jobs
