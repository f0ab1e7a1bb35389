#include "blob_store/storage/blob_keys.h"

#include <algorithm>

#include "common/kv/key_codec.h"

namespace tidemark::blob_store::blob_keys {
namespace {

constexpr std::size_t kNumberPrefix = 1 + 8;

std::string numbered(char kind, std::uint64_t number) {
  std::string key(1, kind);
  kv::append_u64(key, number);
  return key;
}

std::string named(char kind, std::uint64_t generation, std::string_view name) {
  auto key = numbered(kind, generation);
  key += name;
  return key;
}

std::string named_text(char kind, std::uint64_t generation, std::string_view name) {
  auto key = numbered(kind, generation);
  kv::append_text(key, name);
  return key;
}

kv::KeyRange under(const std::string& prefix) { return {prefix, kv::prefix_end(prefix)}; }

}  // namespace

std::string service(std::string_view account) {
  std::string key("A");
  kv::append_text(key, account);
  return key;
}

std::string container(std::string_view account, std::string_view name) {
  std::string key("C");
  kv::append_text(key, account);
  kv::append_text(key, name);
  return key;
}

kv::KeyRange containers(std::string_view account, std::string_view prefix, std::string_view from) {
  std::string base("C");
  kv::append_text(base, account);
  // Container names hold no zero byte, so that the encoded prefix is the prefix itself.
  auto range = under(base + std::string(prefix));
  range.lower = std::max(range.lower, base + std::string(from));
  return range;
}

std::optional<std::string> container_name(std::string_view key) {
  key.remove_prefix(1);
  auto account = kv::take_text(key);
  return account ? kv::take_text(key) : std::nullopt;
}

std::string blob(std::uint64_t generation, std::string_view name) { return named('B', generation, name); }
std::string extents(std::uint64_t generation, std::string_view name) { return named('X', generation, name); }
std::string_view blob_name(std::string_view key) { return key.substr(std::min(kNumberPrefix, key.size())); }

kv::KeyRange blobs(std::uint64_t generation, std::string_view prefix, std::string_view from) {
  auto range = under(blob(generation, prefix));
  range.lower = std::max(range.lower, blob(generation, from));
  return range;
}

std::string staged_summary(std::uint64_t generation, std::string_view name) {
  return named_text('U', generation, name);
}

std::optional<StagedBlob> staged_blob(std::string_view summary_key) {
  if (summary_key.size() < kNumberPrefix) return std::nullopt;
  const auto generation = number(summary_key);
  summary_key.remove_prefix(kNumberPrefix);
  auto name = kv::take_text(summary_key);
  if (!name) return std::nullopt;
  return StagedBlob{generation, std::move(*name)};
}

std::string ledger(std::string_view account, std::string_view operation_id) {
  std::string key("L");
  kv::append_text(key, account);
  key += operation_id;
  return key;
}

std::string staged_block(std::uint64_t generation, std::string_view name, std::string_view block_id) {
  auto key = named_text('K', generation, name);
  kv::append_text(key, block_id);
  return key;
}

kv::KeyRange staged_blocks(std::uint64_t generation, std::string_view name) {
  return under(named_text('K', generation, name));
}

std::optional<std::string> block_id(std::string_view staged_key) {
  staged_key.remove_prefix(std::min(kNumberPrefix, staged_key.size()));
  auto name = kv::take_text(staged_key);
  return name ? kv::take_text(staged_key) : std::nullopt;
}

std::string chunk(std::uint64_t payload, std::uint64_t index) {
  auto key = numbered('P', payload);
  kv::append_u64(key, index);
  return key;
}

kv::KeyRange chunks(std::uint64_t payload) { return under(numbered('P', payload)); }
std::string pending(std::uint64_t payload) { return numbered('Q', payload); }
std::string dead(std::uint64_t payload) { return numbered('D', payload); }
kv::KeyRange all(char kind) { return under(std::string(1, kind)); }
kv::KeyRange all(char kind, std::uint64_t number) { return under(numbered(kind, number)); }

std::uint64_t number(std::string_view key) {
  if (key.empty()) return 0;
  key.remove_prefix(1);
  return kv::take_u64(key).value_or(0);
}

}  // namespace tidemark::blob_store::blob_keys
