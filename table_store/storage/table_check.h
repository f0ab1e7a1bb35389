// Checks that the data of a table store is consistent: every row reads, belongs to something, and is on its shard; the
// figures of the feeds are right; and the copies of tables agree with the catalogue. Calls block.
#pragma once
#include <span>

#include "common/kv/check.h"
#include "common/shards/shards.h"

namespace tidemark::table_store {

Result<void> check_tables(std::span<const kv::Engine* const> shards, const shards::Placement& placement,
                          kv::CheckRun& run);
/// Checks a store of one shard.
Result<void> check_tables(const kv::Engine& engine, kv::CheckRun& run);

}  // namespace tidemark::table_store
