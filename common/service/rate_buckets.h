// Token buckets, one for each key, all of the same rate: an amount per second, and at most one second's worth at once.
// Bounded: if there are too many keys, the key with the fullest bucket is forgotten, which makes its bucket full.
// Thread safe; keys are spread over many locks, each held for some ten nanoseconds.
#pragma once
#include <array>
#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string_view>

#include "common/base/mutex.h"

namespace tidemark::service {

class RateBuckets {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  using Wait = std::chrono::nanoseconds;

  /// 0: no limit.
  explicit RateBuckets(std::uint64_t per_second);
  [[nodiscard]] bool limits() const { return per_second_ > 0; }

  static std::uint64_t key(std::initializer_list<std::string_view> parts);
  /// Takes `amount` if at least one is left, even if that is less: then the bucket owes the rest. Returns zero if it
  /// was taken, otherwise how long it takes until one is left. Nothing can be taken from a bucket that owes, not even
  /// 0.
  Wait take(std::uint64_t key, std::uint64_t amount, TimePoint now);
  /// Charges an amount that is known only afterwards.
  void charge(std::uint64_t key, std::uint64_t amount, TimePoint now);

 private:
  static constexpr std::size_t kShards = 64;
  static constexpr std::size_t kSets = 64;  // in a shard
  static constexpr std::size_t kWays = 8;   // of a set

  struct Bucket {
    std::uint64_t key = 0;
    std::int64_t full_at = 0;  // ns of the steady clock
  };
  struct Shard {
    Mutex mutex;
    std::array<std::array<Bucket, kWays>, kSets> sets GUARDED_BY(mutex);
  };

  static Bucket& find(std::array<Bucket, kWays>& set, std::uint64_t key);
  Wait change(std::uint64_t key, std::uint64_t amount, TimePoint now, bool always);

  const std::uint64_t per_second_;
  std::unique_ptr<std::array<Shard, kShards>> shards_;
};

}  // namespace tidemark::service
