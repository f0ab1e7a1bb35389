// Tracks when change logs are trimmed, and up to where: changes that no follower needs any more are erased in the
// background, about once a second. Thread safe.
#pragma once
#include <map>
#include <optional>

#include "common/base/async.h"
#include "table_store/model/entity.h"

namespace tidemark::table_store {

class LogTrims {
 public:
  static constexpr Duration kPause = std::chrono::seconds(1);

  explicit LogTrims(Clock& clock) : clock_(clock) {}

  /// Returns true if the feed's logs have not been trimmed for a while; then they count as trimmed now.
  bool claim(std::uint64_t feed) {
    MutexLock lock(mutex_);
    const auto now = clock_.monotonic();
    const auto [found, first] = claimed_.try_emplace(feed, now);
    if (!first && now - found->second < kPause) return false;
    found->second = now;
    return true;
  }
  /// Begins to erase the notes on this shard up to this version. Returns the version up to which they already are
  /// erased; nothing if all are.
  std::optional<Version> begin(std::uint64_t feed, std::size_t shard, Version through) {
    MutexLock lock(mutex_);
    auto& erased = erased_[{feed, shard}];
    if (through <= erased) return std::nullopt;
    return std::exchange(erased, through);
  }
  /// The erasure after begin() failed.
  void failed(std::uint64_t feed, std::size_t shard, Version erased) {
    MutexLock lock(mutex_);
    erased_[{feed, shard}] = erased;
  }
  void forget(std::uint64_t feed) {
    MutexLock lock(mutex_);
    claimed_.erase(feed);
    erased_.erase(erased_.lower_bound({feed, 0}), erased_.lower_bound({feed + 1, 0}));
  }

 private:
  Clock& clock_;
  Mutex mutex_;
  std::map<std::uint64_t, Duration> claimed_ GUARDED_BY(mutex_);
  std::map<std::pair<std::uint64_t, std::size_t>, Version> erased_ GUARDED_BY(mutex_);  // through these versions
};

}  // namespace tidemark::table_store
