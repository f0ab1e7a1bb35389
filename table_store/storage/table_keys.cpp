#include "table_store/storage/table_keys.h"

#include "common/base/encoding.h"
#include "common/kv/key_codec.h"

namespace tidemark::table_store {

std::string table_key(std::string_view account, std::string_view table) {
  std::string key;
  key.reserve(1 + account.size() + table.size() + 4);
  key.push_back('t');
  kv::append_text(key, account);
  kv::append_text(key, to_lower_ascii(table));
  return key;
}

kv::KeyRange tables_range(std::string_view account, std::string_view from_table) {
  std::string prefix = "t";
  kv::append_text(prefix, account);
  auto upper = kv::prefix_end(prefix);
  return {from_table.empty() ? std::move(prefix) : table_key(account, from_table), std::move(upper)};
}

std::string entity_prefix(std::uint64_t generation) {
  std::string key = "e";
  kv::append_u64(key, generation);
  return key;
}

kv::KeyRange entities_of(std::uint64_t generation) {
  return {entity_prefix(generation), entity_prefix(generation + 1)};
}

std::string entity_key(std::uint64_t generation, std::string_view partition_key, std::string_view row_key) {
  std::string key;
  key.reserve(kEntityPrefixBytes + partition_key.size() + row_key.size() + 4);
  key.push_back('e');
  kv::append_u64(key, generation);
  kv::append_utf16(key, partition_key);
  kv::append_utf16(key, row_key);
  return key;
}

std::optional<EntityKeyParts> parse_entity_key(std::string_view key) {
  if (key.size() < kEntityPrefixBytes || key.front() != 'e') return std::nullopt;
  key.remove_prefix(kEntityPrefixBytes);
  auto partition_key = kv::take_utf16(key);
  if (!partition_key) return std::nullopt;
  auto row_key = kv::take_utf16(key);
  if (!row_key || !key.empty()) return std::nullopt;
  return EntityKeyParts{std::move(*partition_key), std::move(*row_key)};
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

std::string operation_key(std::string_view account, std::string_view operation_id) {
  std::string key = "o";
  kv::append_text(key, account);
  kv::append_text(key, operation_id);
  return key;
}

kv::FadingRows fading_operations() { return {{"o", "p"}, "O"}; }

std::string service_properties_key(std::string_view account) {
  std::string key = "p";
  kv::append_text(key, account);
  return key;
}

}  // namespace tidemark::table_store
