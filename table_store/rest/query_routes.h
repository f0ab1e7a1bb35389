// Queries over the entities of a table: $filter, $select, $top and continuation.
#pragma once
#include "table_store/rest/table_call.h"

namespace tidemark::table_store {

/// Serves GET t or t().
Answer query_entities(Call& call);

/// Returns no names for everything: without $select, or if it is blank or has '*'. kInvalidInput if there are too many
/// names.
Result<std::vector<std::string>> parse_select(std::optional<std::string_view> text);
/// Returns 1..1000; kInvalidInput.
Result<std::uint32_t> parse_top(std::optional<std::string_view> text);

}  // namespace tidemark::table_store
