#include "queue_service/storage/queue_keys.h"

namespace tidemark::queue_service::queue_keys {

std::optional<std::string> queue_name(std::string_view key, std::string_view account) {
  const auto prefix = queues_of(account);
  if (!key.starts_with(prefix)) return std::nullopt;
  key.remove_prefix(prefix.size());
  return kv::take_text(key);
}

std::optional<std::pair<std::string, std::string>> account_and_queue(std::string_view key) {
  if (!key.starts_with('q') && !key.starts_with('b')) return std::nullopt;
  key.remove_prefix(1);
  auto account = kv::take_text(key);
  auto name = account ? kv::take_text(key) : std::nullopt;
  if (!name) return std::nullopt;
  return std::pair(std::move(*account), std::move(*name));
}

kv::KeyRange placed_from(std::uint64_t generation, Set set, const Place& from, Time until) {
  auto upper = until == Time::max() ? kv::prefix_end(queue_keys::set(generation, set))
                                    : placed(generation, set, {until + Ticks(1), 0});
  return {placed(generation, set, from), std::move(upper)};
}

std::optional<Place> place_in(std::string_view key) {
  if (key.size() != 26) return std::nullopt;
  return place_from_bytes(key.substr(10));
}

kv::KeyRange waiting_from(std::uint64_t generation, std::string_view group, std::uint64_t sequence) {
  const auto of_group = kv::key('m', generation, static_cast<char>(Set::kWaiting), Text{group});
  return {waiting(generation, group, sequence), kv::prefix_end(of_group)};
}

kv::KeyRange turns_from(std::uint64_t generation, std::string_view tenant, std::uint64_t number) {
  return {turn(generation, tenant, number), kv::prefix_end(kv::key('m', generation, 'o', Text{tenant}))};
}

kv::KeyRange all_waiting(std::uint64_t generation, std::string_view after) {
  auto all = kv::under(set(generation, Set::kWaiting));
  if (!after.empty()) all.lower = std::string(after) + '\0';
  return all;
}

std::optional<std::string> aged_key(std::string_view key) {
  if (key.size() < 18) return std::nullopt;
  key.remove_prefix(18);
  return kv::take_text(key);
}

std::optional<std::uint64_t> departure_number(std::string_view key) {
  key.remove_prefix(std::min<std::size_t>(1, key.size()));
  if (!kv::take_u64(key)) return std::nullopt;
  return kv::take_u64(key);
}

}  // namespace tidemark::queue_service::queue_keys
