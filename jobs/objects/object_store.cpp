#include "jobs/objects/object_store.h"

#include <algorithm>

#include "jobs/objects/blob_objects.h"
#include "jobs/objects/file_objects.h"

namespace tidemark::jobs {

const FileDirectory* find_directory(const ObjectAccess& access, std::string_view name) {
  const auto found = std::ranges::find(access.directories, name, &FileDirectory::name);
  return found == access.directories.end() ? nullptr : &*found;
}

std::unexpected<Error> no_directory(const std::string& name) {
  return fail(ErrorCode::kJobInvalid, "The archive_directories of this process have no directory '" + name + "'.");
}

Result<std::unique_ptr<ObjectStore>> open_archive(const ObjectAccess& access, table_store::TableClient& tables,
                                                  const ObjectArchive& archive, const std::string& account) {
  if (!archive.directory.empty()) {
    const auto* directory = find_directory(access, archive.directory);
    if (directory == nullptr) return no_directory(archive.directory);
    return std::make_unique<FileObjects>(tables, *directory);
  }
  if (access.blobs == nullptr) return fail(ErrorCode::kJobInvalid, "This process reaches no blob store.");
  auto blobs = access.blobs->as(account.empty() ? access.blobs->account() : account);
  return std::make_unique<BlobObjects>(std::move(blobs), archive.container);
}

}  // namespace tidemark::jobs
