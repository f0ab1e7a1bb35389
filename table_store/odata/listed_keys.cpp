#include "table_store/odata/listed_keys.h"

#include <simdjson.h>

#include <algorithm>

namespace tidemark::table_store {

std::vector<ListedKey> listed_keys(std::string_view json, std::size_t most) {
  namespace dom = simdjson::dom;
  thread_local dom::parser parser;
  dom::array list;
  if (parser.parse(json).get(list) != simdjson::SUCCESS) return {};
  std::vector<ListedKey> keys;
  keys.reserve(std::min(most, list.size()));
  for (const auto item : list) {
    if (keys.size() == most) break;
    dom::array entry;
    std::string_view partition_key;
    std::string_view row_key;
    if (item.get(entry) != simdjson::SUCCESS || entry.at(0).get(partition_key) != simdjson::SUCCESS ||
        entry.at(1).get(row_key) != simdjson::SUCCESS) {
      return {};
    }
    keys.push_back({std::string(partition_key), std::string(row_key)});
  }
  return keys;
}

}  // namespace tidemark::table_store
