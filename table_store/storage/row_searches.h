// Finds rows by a lower bound of their keys. Private to storage/.
#pragma once
#include "common/kv/engine.h"
#include "table_store/model/query.h"

namespace tidemark::table_store {

Result<void> check_search(const RowSearch& search);
kv::KeyRange range_of(std::uint64_t generation, const RowSearch& search);
/// Returns the entity of a row, from its key and its record.
Result<Entity> entity_in(std::string_view key, std::string_view record, const Selection& selection = {});

}  // namespace tidemark::table_store
