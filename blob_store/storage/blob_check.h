// Whether what a blob store holds fits together: every row reads, every payload has its bytes, and whatever refers to
// something finds it. Also which files belong to a state of the rows, for backups. Calls block.
#pragma once
#include <filesystem>
#include <vector>

#include "blob_store/storage/payload_files.h"
#include "common/kv/check.h"

namespace tidemark::blob_store {

/// `folder`: of the store. Keeps 16 bytes for each reference to a content or payload while it is at work.
Result<void> check_blobs(const kv::Engine& engine, const std::filesystem::path& folder, kv::CheckRun& run);

/// The files that these rows refer to, as PayloadFiles names them. They are whole if none was removed since. A file
/// that was being written is not among them, and neither is what is dead: the collector expects both to be missing.
Result<std::vector<std::filesystem::path>> files_of_rows(const kv::Reader& rows, const std::filesystem::path& payloads);

}  // namespace tidemark::blob_store
