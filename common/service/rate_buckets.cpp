#include "common/service/rate_buckets.h"

#include <algorithm>
#include <functional>

namespace tidemark::service {
namespace {

constexpr double kNanosPerSecond = 1e9;
constexpr std::int64_t kBurst = 1'000'000'000;   // a bucket holds the amount of one second
constexpr std::int64_t kMostOwed = 60 * kBurst;  // so that nobody is refused for longer

}  // namespace

RateBuckets::RateBuckets(std::uint64_t per_second) : per_second_(per_second) {
  if (limits()) shards_ = std::make_unique<std::array<Shard, kShards>>();
}

std::uint64_t RateBuckets::key(std::initializer_list<std::string_view> parts) {
  std::uint64_t key = 0;
  for (const auto part : parts) {
    key ^= std::hash<std::string_view>()(part) + 0x9E3779B97F4A7C15U + (key << 6U) + (key >> 2U);
  }
  return key;
}

RateBuckets::Bucket& RateBuckets::find(std::array<Bucket, kWays>& set, std::uint64_t key) {
  const auto known = std::ranges::find(set, key, &Bucket::key);
  if (known != set.end()) return *known;
  auto& fullest = *std::ranges::min_element(set, {}, &Bucket::full_at);
  fullest = {key, 0};
  return fullest;
}

RateBuckets::Wait RateBuckets::take(std::uint64_t key, std::uint64_t amount, TimePoint now) {
  return change(key, amount, now, false);
}

void RateBuckets::charge(std::uint64_t key, std::uint64_t amount, TimePoint now) { change(key, amount, now, true); }

RateBuckets::Wait RateBuckets::change(std::uint64_t key, std::uint64_t amount, TimePoint now, bool always) {
  if (!limits()) return Wait::zero();
  const std::int64_t at = std::chrono::duration_cast<std::chrono::nanoseconds>(now.time_since_epoch()).count();
  auto& shard = (*shards_)[key % kShards];
  MutexLock lock(shard.mutex);
  auto& bucket = find(shard.sets[key / kShards % kSets], key);
  const auto full_at = std::max(bucket.full_at, at);
  const auto unit = kNanosPerSecond / static_cast<double>(per_second_);
  const auto missing = full_at - at - kBurst + (amount > 0 ? static_cast<std::int64_t>(unit) : 0);
  if (!always && missing > 0) return Wait(missing);
  const auto cost = static_cast<double>(amount) * unit;
  const auto most = static_cast<double>(kBurst + kMostOwed);
  bucket.full_at = std::min(full_at + static_cast<std::int64_t>(std::min(cost, most)), at + kBurst + kMostOwed);
  return Wait::zero();
}

}  // namespace tidemark::service
