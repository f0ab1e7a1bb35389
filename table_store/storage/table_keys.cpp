#include "table_store/storage/table_keys.h"

namespace tidemark::table_store {

kv::KeyRange tables_range(std::string_view account, std::string_view from_table) {
  auto range = kv::under(kv::key('t', kv::Text{account}));
  if (!from_table.empty()) range.lower = table_key(account, from_table);
  return range;
}

bool EntityKeyReader::read(std::string_view key) {
  if (key.size() < kEntityPrefixBytes || key.front() != 'e') return false;
  key.remove_prefix(kEntityPrefixBytes);
  const auto partition = kv::take_utf16_view(key, partition_scratch_);
  const auto row = partition ? kv::take_utf16_view(key, row_scratch_) : std::nullopt;
  if (!row || !key.empty()) return false;
  partition_key = *partition;
  row_key = *row;
  return true;
}

}  // namespace tidemark::table_store
