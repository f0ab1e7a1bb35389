// Whether what a blob store holds fits together: every row reads, every payload has its bytes, and whatever refers to
// something finds it. Also which files belong to a state of the rows, for backups. Calls block.
#pragma once
#include <filesystem>
#include <vector>

#include "blob_store/storage/payload_files.h"
#include "common/kv/check.h"

namespace tidemark::blob_store {

/// So much that the rows say of contents and payloads is compared at a time: 48 MiB.
inline constexpr std::size_t kReferencesAtOnce = 2UL << 20;

/// `payloads`: the directory of their files. Where there is more to compare than `at_once`, the rows are walked several
/// times, each time for a part of the ids.
Result<void> check_blobs(const kv::Engine& engine, const std::filesystem::path& payloads, kv::CheckRun& run,
                         std::size_t at_once = kReferencesAtOnce);

/// The files that these rows refer to, as PayloadFiles names them. They are whole if none was removed since. A file
/// that was being written is not among them, and neither is what is dead: the collector expects both to be missing.
Result<std::vector<std::filesystem::path>> files_of_rows(const kv::Reader& rows, const std::filesystem::path& payloads);

}  // namespace tidemark::blob_store
