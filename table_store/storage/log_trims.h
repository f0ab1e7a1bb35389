// When and what is erased of the change logs: what no follower needs any more goes in the background, about once a
// second. Thread safe.
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

  /// True if the feed's log has not been trimmed for a while; then it counts as trimmed now.
  bool claim(std::uint64_t feed) {
    MutexLock lock(mutex_);
    const auto now = clock_.monotonic();
    const auto [found, first] = feeds_.try_emplace(feed);
    auto& trim = found->second;
    if (!first && now - trim.at < kPause) return false;
    trim.at = now;
    return true;
  }
  /// Notes up to this version are to be erased. Gives the version up to which they already are; nothing if all are.
  std::optional<Version> begin(std::uint64_t feed, Version through) {
    MutexLock lock(mutex_);
    auto& trim = feeds_[feed];
    if (through <= trim.through) return std::nullopt;
    return std::exchange(trim.through, through);
  }
  void forget(std::uint64_t feed) {
    MutexLock lock(mutex_);
    feeds_.erase(feed);
  }

 private:
  struct Trim {
    Duration at{};
    Version through = 0;
  };
  Clock& clock_;
  Mutex mutex_;
  std::map<std::uint64_t, Trim> feeds_ GUARDED_BY(mutex_);
};

}  // namespace tidemark::table_store
