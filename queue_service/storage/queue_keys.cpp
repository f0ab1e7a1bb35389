#include "queue_service/storage/queue_keys.h"

#include "common/kv/key_codec.h"

namespace tidemark::queue_service::queue_keys {
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

kv::KeyRange all_queues() { return {"q", "r"}; }

std::optional<std::pair<std::string, std::string>> account_and_queue(std::string_view key) {
  if (!key.starts_with('q')) return std::nullopt;
  key.remove_prefix(1);
  auto account = kv::take_text(key);
  if (!account) return std::nullopt;
  auto name = kv::take_text(key);
  if (!name) return std::nullopt;
  return std::pair(std::move(*account), std::move(*name));
}

std::string properties(std::string_view account) {
  std::string key = "p";
  kv::append_text(key, account);
  return key;
}

std::string generations() { return "n"; }

std::string placed(std::uint64_t generation, Set set, const Place& place) {
  return of_generation(generation, static_cast<char>(set)) + place_bytes(place);
}

kv::KeyRange placed_from(std::uint64_t generation, Set set, const Place& from, Time until) {
  auto lower = placed(generation, set, from);
  if (until == Time::max()) {
    return {std::move(lower), kv::prefix_end(of_generation(generation, static_cast<char>(set)))};
  }
  return {std::move(lower), placed(generation, set, {until + Ticks(1), 0})};
}

std::optional<Place> place_in(std::string_view key) {
  if (key.size() != 26) return std::nullopt;
  return place_from_bytes(key.substr(10));
}

std::string waiting(std::uint64_t generation, std::string_view group, std::uint64_t sequence) {
  auto key = of_generation(generation, static_cast<char>(Set::kWaiting));
  kv::append_text(key, group);
  kv::append_u64(key, sequence);
  return key;
}

kv::KeyRange waiting_from(std::uint64_t generation, std::string_view group, std::uint64_t sequence) {
  auto prefix = of_generation(generation, static_cast<char>(Set::kWaiting));
  kv::append_text(prefix, group);
  return {waiting(generation, group, sequence), kv::prefix_end(prefix)};
}

kv::KeyRange all_waiting(std::uint64_t generation, std::string_view after) {
  auto prefix = of_generation(generation, static_cast<char>(Set::kWaiting));
  auto upper = kv::prefix_end(prefix);
  auto lower = after.empty() ? std::move(prefix) : std::string(after) + '\0';
  return {std::move(lower), std::move(upper)};
}

std::string group(std::uint64_t generation, std::string_view group) {
  auto key = of_generation(generation, 'g');
  kv::append_text(key, group);
  return key;
}

std::string idempotency(std::uint64_t generation, std::string_view key) {
  auto out = of_generation(generation, 'k');
  kv::append_text(out, key);
  return out;
}

std::string idempotency_by_age(std::uint64_t generation, Time expires, std::string_view key) {
  auto out = of_generation(generation, 'a');
  kv::append_u64(out, static_cast<std::uint64_t>(expires.time_since_epoch().count()));
  kv::append_text(out, key);
  return out;
}

kv::KeyRange idempotency_until(std::uint64_t generation, Time until) {
  return {of_generation(generation, 'a'), idempotency_by_age(generation, until + Ticks(1), "")};
}

std::optional<std::string> aged_key(std::string_view key) {
  if (key.size() < 18) return std::nullopt;
  key.remove_prefix(18);
  return kv::take_text(key);
}

std::string by_id(std::uint64_t generation, std::string_view id) {
  auto key = of_generation(generation, 'i');
  key.append(id);
  return key;
}

std::string figures(std::uint64_t generation) { return of_generation(generation, 'c'); }

kv::KeyRange everything_of(std::uint64_t generation) {
  std::string prefix = "m";
  kv::append_u64(prefix, generation);
  auto upper = kv::prefix_end(prefix);
  return {std::move(prefix), std::move(upper)};
}

}  // namespace tidemark::queue_service::queue_keys
