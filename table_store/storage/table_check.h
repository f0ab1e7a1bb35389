// Whether what a table store holds fits together: every row reads, belongs to something, and the figures of the feeds
// are right. Calls block.
#pragma once
#include "common/kv/check.h"

namespace tidemark::table_store {

Result<void> check_tables(const kv::Engine& engine, kv::CheckRun& run);

}  // namespace tidemark::table_store
