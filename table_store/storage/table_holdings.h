// The amounts that an account has in the store, for its bounds (common/service/holdings.h).
#pragma once
#include <functional>
#include <span>
#include <string>

#include "common/kv/engine.h"

namespace tidemark::table_store {

/// Calls `each` with the entities of each table that can be listed.
Result<void> each_table(const kv::Reader& rows, const std::string& account,
                        const std::function<Result<void>(std::span<const kv::KeyRange>)>& each);

}  // namespace tidemark::table_store
