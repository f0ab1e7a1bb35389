// Queries over the entities of a table: $filter, $select, $top and continuation.
#pragma once
#include "table_store/rest/table_call.h"

namespace tidemark::table_store {

/// GET t or t().
Answer query_entities(Call& call);

/// Empty for everything: no $select, a blank one, or one with '*'. kInvalidInput for too many names.
Result<std::vector<std::string>> parse_select(std::optional<std::string_view> text);
/// 1..1000; kInvalidInput.
Result<std::uint32_t> parse_top(std::optional<std::string_view> text);

}  // namespace tidemark::table_store
