// Checks that the data of a blob store is consistent: every row can be read, every payload has its bytes, and every
// reference leads to something. Also tells which files belong to a state of the rows, for backups. Calls block.
#pragma once
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "blob_store/storage/payload_files.h"
#include "common/kv/check.h"
#include "common/shards/shards.h"

namespace tidemark::blob_store {

/// The number of references to contents and payloads that are compared at a time: 48 MiB.
inline constexpr std::size_t kReferencesAtOnce = 2UL << 20;

/// Checks the shards of a store. `payloads`: the directory of their files. If a shard has more to compare than
/// `at_once`, its rows are walked several times, each time for a part of the ids.
Result<void> check_blobs(std::span<const kv::Engine* const> shards, const shards::Placement& placement,
                         const std::filesystem::path& payloads, kv::CheckRun& run,
                         std::size_t at_once = kReferencesAtOnce);

/// Returns the files that the rows of all shards refer to, as PayloadFiles names them. They are complete if none was
/// removed since. Files that were being written and files of dead payloads are left out: the collector expects both to
/// be missing.
Result<std::vector<std::filesystem::path>> files_of_rows(std::span<const std::shared_ptr<const kv::Reader>> shards,
                                                         const std::filesystem::path& payloads);

}  // namespace tidemark::blob_store
