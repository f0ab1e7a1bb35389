// Registers the contents that are being read. Bytes that a reader may need are not removed meanwhile, so a blob that is
// replaced or deleted is still read as it was. Thread safe.
//
// The extents of a page blob change while its content stays the same. So its readers also register the id that their
// snapshot would give next (contents.h): they see no payload with this or a higher id, and every change with a lower
// one.
#pragma once
#include <functional>
#include <limits>
#include <map>
#include <utility>

#include "common/base/async.h"
#include "common/base/mutex.h"

namespace tidemark::blob_store {

/// A download that takes longer breaks off: it no longer keeps the space of deleted content.
inline constexpr Duration kMaxReading = std::chrono::hours(6);

class Readers {
 public:
  explicit Readers(const Clock& clock) : clock_(clock) {}

  /// While the ticket lives, and for kMaxReading at most, the content stays.
  class Ticket {
   public:
    Ticket() = default;
    Ticket(Readers& readers, std::uint64_t content)
        : readers_(&readers), content_(content), since_(readers.clock_.monotonic()) {
      MutexLock lock(readers.mutex_);
      readers.enter({content, next_}, since_);
    }
    Ticket(Ticket&& other) noexcept { *this = std::move(other); }
    Ticket& operator=(Ticket&& other) noexcept {
      std::swap(readers_, other.readers_);
      std::swap(content_, other.content_);
      std::swap(next_, other.next_);
      std::swap(since_, other.since_);
      return *this;
    }
    ~Ticket() {
      if (readers_ == nullptr) return;
      MutexLock lock(readers_->mutex_);
      const auto call = readers_->leave({content_, next_}) ? readers_->left_ : nullptr;
      lock.unlock();
      if (call) call();
    }
    /// The reader's snapshot was made after the ticket, and `next` is the id that it would give next. Call it once. A
    /// reader in another process does not call it, and so keeps everything that was in the content since.
    void reads_at(std::uint64_t next) {
      MutexLock lock(readers_->mutex_);
      readers_->enter({content_, next}, since_);
      readers_->leave({content_, std::exchange(next_, next)});
    }

   private:
    Readers* readers_ = nullptr;
    std::uint64_t content_ = 0;
    std::uint64_t next_ = kUnknown;
    Duration since_{};
  };

  /// Tells whether the content has readers.
  [[nodiscard]] bool reads(std::uint64_t content) const {
    return reads(content, 0, std::numeric_limits<std::uint64_t>::max());
  }
  /// Tells whether the content has readers that may see the payload, which the change `replaced` removed.
  [[nodiscard]] bool reads(std::uint64_t content, std::uint64_t payload, std::uint64_t replaced) const {
    MutexLock lock(mutex_);
    const auto unknown = reading_.find({content, kUnknown});
    if (unknown != reading_.end() && counts(unknown->second)) return true;
    auto group = reading_.upper_bound({content, payload});
    for (; group != reading_.end() && group->first <= Key(content, replaced); ++group) {
      if (counts(group->second)) return true;
    }
    return false;
  }
  /// Sets a function that is called when the last of the readers of a content that see the same leaves.
  void when_left(std::function<void()> call) {
    MutexLock lock(mutex_);
    left_ = std::move(call);
  }

 private:
  using Key = std::pair<std::uint64_t, std::uint64_t>;  // the content, and the next id in its readers' snapshot
  static constexpr std::uint64_t kUnknown = 0;
  struct Group {
    std::size_t readers = 0;
    Duration youngest{};
  };
  [[nodiscard]] bool counts(const Group& group) const {
    return clock_.monotonic() - group.youngest <= kMaxReading + std::chrono::minutes(1);
  }
  void enter(Key key, Duration since) REQUIRES(mutex_) {
    auto& group = reading_[key];
    ++group.readers;
    group.youngest = std::max(group.youngest, since);
  }
  /// Returns true for the last of a group.
  bool leave(Key key) REQUIRES(mutex_) {
    const auto at = reading_.find(key);
    if (at == reading_.end() || --at->second.readers > 0) return false;
    reading_.erase(at);
    return true;
  }

  const Clock& clock_;
  mutable Mutex mutex_;
  std::map<Key, Group> reading_ GUARDED_BY(mutex_);
  std::function<void()> left_ GUARDED_BY(mutex_);
};

}  // namespace tidemark::blob_store
