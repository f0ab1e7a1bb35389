// Parses the keys of entities in the text of a row that lists them (model/listed.h). Thread safe.
#pragma once
#include <string_view>
#include <vector>

#include "table_store/model/listed.h"

namespace tidemark::table_store {

/// Returns the first `most` keys; none if the text is not such a list.
std::vector<ListedKey> listed_keys(std::string_view json, std::size_t most);

}  // namespace tidemark::table_store
