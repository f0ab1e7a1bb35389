#include "queue_service/storage/queue_keys.h"

#include "common/kv/key_codec.h"

namespace tidemark::queue_service::keys {
namespace {

std::string of_generation(std::uint64_t generation, char kind) {
  std::string key = "m";
  key.reserve(26);
  kv::append_u64(key, generation);
  key.push_back(kind);
  return key;
}

}  // namespace

std::string queues_of(std::string_view account) {
  std::string key = "q";
  kv::append_text(key, account);
  return key;
}

std::string queue(std::string_view account, std::string_view name) {
  auto key = queues_of(account);
  kv::append_text(key, name);
  return key;
}

std::optional<std::string> queue_name(std::string_view key, std::string_view account) {
  const auto prefix = queues_of(account);
  if (!key.starts_with(prefix)) return std::nullopt;
  key.remove_prefix(prefix.size());
  return kv::take_text(key);
}

std::string properties(std::string_view account) {
  std::string key = "p";
  kv::append_text(key, account);
  return key;
}

std::string generations() { return "n"; }

std::string message(std::uint64_t generation, const Place& place) {
  return of_generation(generation, 'v') + place_bytes(place);
}

kv::KeyRange messages(std::uint64_t generation, const Place& from, Time until) {
  auto lower = message(generation, from);
  if (until == Time::max()) return {std::move(lower), kv::prefix_end(of_generation(generation, 'v'))};
  return {std::move(lower), message(generation, {until + Ticks(1), 0})};
}

std::optional<Place> message_place(std::string_view key) {
  if (key.size() != 26 || key[9] != 'v') return std::nullopt;
  return place_from_bytes(key.substr(10));
}

std::string by_id(std::uint64_t generation, std::string_view id) {
  auto key = of_generation(generation, 'i');
  key.append(id);
  return key;
}

std::string figures(std::uint64_t generation) { return of_generation(generation, 'c'); }

std::string dropped(std::uint64_t generation) {
  std::string key = "d";
  kv::append_u64(key, generation);
  return key;
}

kv::KeyRange all_dropped() { return {"d", "e"}; }

std::optional<std::uint64_t> dropped_generation(std::string_view key) {
  if (!key.starts_with('d')) return std::nullopt;
  key.remove_prefix(1);
  return kv::take_u64(key);
}

kv::KeyRange everything_of(std::uint64_t generation) {
  std::string prefix = "m";
  kv::append_u64(prefix, generation);
  auto upper = kv::prefix_end(prefix);
  return {std::move(prefix), std::move(upper)};
}

}  // namespace tidemark::queue_service::keys
