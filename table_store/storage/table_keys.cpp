#include "table_store/storage/table_keys.h"

namespace tidemark::table_store {

kv::KeyRange tables_range(std::string_view account, std::string_view from_table) {
  auto range = kv::under(kv::key('t', kv::Text{account}));
  if (!from_table.empty()) range.lower = table_key(account, from_table);
  return range;
}

kv::KeyRange feeds_range(std::string_view account, std::string_view from_table) {
  auto range = kv::under(kv::key('f', kv::Text{account}));
  if (!from_table.empty()) range.lower = feed_key(account, from_table);
  return range;
}

std::optional<NotePlace> place_of_note(std::string_view key) {
  if (key.empty() || key.front() != 'l') return std::nullopt;
  key.remove_prefix(1);
  const auto feed = kv::take_u64(key);
  const auto version = feed ? kv::take_u64(key) : std::nullopt;
  const auto index = version ? kv::take_u64(key) : std::nullopt;
  if (!index || !key.empty()) return std::nullopt;
  return NotePlace{static_cast<Version>(*version), *index};
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
