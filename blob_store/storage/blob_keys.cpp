#include "blob_store/storage/blob_keys.h"

#include <algorithm>

namespace tidemark::blob_store::blob_keys {
namespace {

std::string_view after_number(std::string_view key) {
  constexpr std::size_t kNumberPrefix = 1 + 8;
  return key.substr(std::min(kNumberPrefix, key.size()));
}

/// Returns the keys with this prefix that are not before `from`.
kv::KeyRange under_from(std::string prefix, const std::string& from) {
  auto range = kv::under(std::move(prefix));
  range.lower = std::max(range.lower, from);
  return range;
}

}  // namespace

kv::KeyRange containers(std::string_view account, std::string_view prefix, std::string_view from) {
  // Container names have no zero byte, so the encoded prefix is the prefix itself.
  return under_from(kv::key('C', Text{account}, prefix), kv::key('C', Text{account}, from));
}

std::optional<std::string> container_name(std::string_view key) {
  key.remove_prefix(1);
  return kv::take_text(key) ? kv::take_text(key) : std::nullopt;
}

std::optional<ContainerKey> container_key(std::string_view key) {
  key.remove_prefix(1);
  auto account = kv::take_text(key);
  auto name = kv::take_text(key);
  if (!account || !name) return std::nullopt;
  return ContainerKey{std::move(*account), std::move(*name)};
}

std::string_view blob_name(std::string_view key) { return after_number(key); }

kv::KeyRange blobs(std::uint64_t generation, std::string_view prefix, std::string_view from) {
  return under_from(blob(generation, prefix), blob(generation, from));
}

std::string text_prefix(char kind, std::uint64_t generation, std::string_view name) {
  auto key = kv::key(kind, generation, Text{name});
  key.resize(key.size() - 2);  // without the end mark of the text
  return key;
}

kv::KeyRange texts_from(char kind, std::uint64_t generation, std::string_view prefix, std::string_view from) {
  return under_from(text_prefix(kind, generation, prefix), text_prefix(kind, generation, from));
}

std::optional<NamedKey> named_key(std::string_view key) {
  auto rest = after_number(key);
  auto name = kv::take_text(rest);
  if (!name) return std::nullopt;
  return NamedKey{number(key), std::move(*name)};
}

std::optional<NamedKey> blob_of_row(std::string_view key) {
  constexpr std::string_view kWithText = "KSUVZ";
  if (key.empty()) return std::nullopt;
  if (kWithText.contains(key.front())) return named_key(key);
  if (key.front() == 'B' || key.front() == 't') return NamedKey{number(key), std::string(blob_name(key))};
  auto rest = after_number(key);
  if (key.front() != 'T' || !kv::take_text(rest) || !kv::take_text(rest)) return std::nullopt;
  return NamedKey{number(key), std::string(rest)};
}

std::optional<KeptKey> kept_key(std::string_view key) {
  auto rest = after_number(key);
  auto name = kv::take_text(rest);
  const auto version = kv::take_u64(rest);
  if (!name || !version) return std::nullopt;
  return KeptKey{std::move(*name), *version};
}

std::string purge(Time when, std::uint64_t generation, std::string_view name, std::uint64_t version) {
  return kv::key('E', static_cast<std::uint64_t>(when.time_since_epoch().count()), generation, Text{name}, version);
}

kv::KeyRange purges_until(Time now) {
  return {kv::key('E'), kv::key('E', static_cast<std::uint64_t>(now.time_since_epoch().count()))};
}

std::optional<PurgeKey> purge_key(std::string_view key) {
  key.remove_prefix(1);
  const auto when = kv::take_u64(key);
  const auto generation = kv::take_u64(key);
  auto name = kv::take_text(key);
  const auto version = kv::take_u64(key);
  if (!when || !generation || !name || !version) return std::nullopt;
  return PurgeKey{Time(Ticks(static_cast<std::int64_t>(*when))), *generation, std::move(*name), *version};
}

std::uint64_t extent_start(std::string_view key) {
  auto rest = after_number(key);
  return kv::take_u64(rest).value_or(0);
}

std::optional<std::string> block_id(std::string_view staged_key) {
  auto rest = after_number(staged_key);
  return kv::take_text(rest) ? kv::take_text(rest) : std::nullopt;
}

}  // namespace tidemark::blob_store::blob_keys
