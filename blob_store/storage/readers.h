// Which contents are being read. What a reader may come to is not removed meanwhile, so a blob that is replaced or
// deleted is still read as it was. Thread safe.
#pragma once
#include <map>
#include <utility>

#include "common/base/async.h"
#include "common/base/mutex.h"

namespace tidemark::blob_store {

/// A download that takes longer breaks off: it does not keep the space of what was deleted any longer.
inline constexpr Duration kMaxReading = std::chrono::hours(6);

class Readers {
 public:
  explicit Readers(const Clock& clock) : clock_(clock) {}

  /// While it lives, and for kMaxReading at most, the content stays.
  class Ticket {
   public:
    Ticket() = default;
    Ticket(Readers& readers, std::uint64_t content)
        : readers_(&readers), content_(content), since_(readers.enter(content)) {}
    Ticket(Ticket&& other) noexcept { *this = std::move(other); }
    Ticket& operator=(Ticket&& other) noexcept {
      std::swap(readers_, other.readers_);
      std::swap(content_, other.content_);
      std::swap(since_, other.since_);
      return *this;
    }
    ~Ticket() {
      if (readers_ != nullptr) readers_->leave(content_, since_);
    }
    [[nodiscard]] bool expired() const {
      return readers_ != nullptr && readers_->clock_.monotonic() - since_ > kMaxReading;
    }

   private:
    Readers* readers_ = nullptr;
    std::uint64_t content_ = 0;
    Duration since_{};
  };

  [[nodiscard]] bool reads(std::uint64_t content) const {
    MutexLock lock(mutex_);
    const auto oldest_that_counts = clock_.monotonic() - kMaxReading - std::chrono::minutes(1);
    const auto youngest = reading_.lower_bound({content, oldest_that_counts});
    return youngest != reading_.end() && youngest->first.first == content;
  }
  /// Called when the last reader of some content has left.
  void when_left(std::function<void()> call) {
    MutexLock lock(mutex_);
    left_ = std::move(call);
  }

 private:
  using Key = std::pair<std::uint64_t, Duration>;
  Duration enter(std::uint64_t content) {
    MutexLock lock(mutex_);
    const auto now = clock_.monotonic();
    ++reading_[{content, now}];
    return now;
  }
  void leave(std::uint64_t content, Duration since) {
    MutexLock lock(mutex_);
    const auto at = reading_.find({content, since});
    if (at == reading_.end() || --at->second > 0) return;
    reading_.erase(at);
    const auto other = reading_.lower_bound({content, Duration::min()});
    const bool last = other == reading_.end() || other->first.first != content;
    const auto call = last ? left_ : nullptr;
    lock.unlock();
    if (call) call();
  }

  const Clock& clock_;
  mutable Mutex mutex_;
  std::map<Key, std::size_t> reading_ GUARDED_BY(mutex_);
  std::function<void()> left_ GUARDED_BY(mutex_);
};

}  // namespace tidemark::blob_store
