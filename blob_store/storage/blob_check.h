// Whether what a blob store holds fits together: every row reads, every payload has its bytes, and whatever refers to
// something finds it. Also which files belong to a state of the rows, for backups. Calls block.
#pragma once
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "blob_store/storage/payload_files.h"
#include "common/kv/check.h"
#include "common/kv/shards.h"

namespace tidemark::blob_store {

/// So much that the rows say of contents and payloads is compared at a time: 48 MiB.
inline constexpr std::size_t kReferencesAtOnce = 2UL << 20;

/// The shards of a store. `payloads`: the directory of their files. Where a shard has more to compare than `at_once`,
/// its rows are walked several times, each time for a part of the ids.
Result<void> check_blobs(std::span<const kv::Engine* const> shards, const kv::Placement& placement,
                         const std::filesystem::path& payloads, kv::CheckRun& run,
                         std::size_t at_once = kReferencesAtOnce);

/// The files that the rows of all shards refer to, as PayloadFiles names them. They are whole if none was removed
/// since. A file that was being written is not among them, and neither is what is dead: the collector expects both to
/// be missing.
Result<std::vector<std::filesystem::path>> files_of_rows(std::span<const std::shared_ptr<const kv::Reader>> shards,
                                                         const std::filesystem::path& payloads);

}  // namespace tidemark::blob_store
