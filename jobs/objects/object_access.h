// The archives outside of tables that a process can reach: containers of the blob store, and directories that its
// operator allows. A value, used from one strand.
#pragma once
#include <memory>

#include "jobs/kinds/archive/object_archive.h"
#include "jobs/objects/file_tree.h"
#include "jobs/objects/object_store.h"
#include "table_store/client/table_client.h"

namespace tidemark::jobs {

struct ObjectAccess {
  blob_store::BlobClient* blobs = nullptr;  // null if it reaches no containers; outlives all use
  std::vector<FileDirectory> directories = {};
};

/// kJobInvalid if this process cannot reach it.
Result<std::unique_ptr<ObjectStore>> open_archive(const ObjectAccess& access, table_store::TableClient& tables,
                                                  const ObjectArchive& archive);

}  // namespace tidemark::jobs
