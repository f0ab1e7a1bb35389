#include "jobs/objects/object_store.h"

#include "jobs/objects/blob_objects.h"
#include "jobs/objects/file_objects.h"

namespace tidemark::jobs {

Result<std::unique_ptr<ObjectStore>> open_archive(const ObjectAccess& access, table_store::TableClient& tables,
                                                  const ObjectArchive& archive) {
  if (!archive.directory.empty()) {
    for (const auto& directory : access.directories) {
      if (directory.name == archive.directory) return std::make_unique<FileObjects>(tables, directory);
    }
    return fail(ErrorCode::kJobInvalid,
                "The archive_directories of this process have no directory '" + archive.directory + "'.");
  }
  if (access.blobs == nullptr) return fail(ErrorCode::kJobInvalid, "This process reaches no blob store.");
  return std::make_unique<BlobObjects>(*access.blobs, archive.container);
}

}  // namespace tidemark::jobs
