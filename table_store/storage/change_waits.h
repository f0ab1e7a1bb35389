// Wakes callers that wait for a change of a followed table. A writer pays for it only while some wait. Thread safe.
#pragma once
#include <atomic>
#include <map>
#include <memory>

#include "common/base/async.h"

namespace tidemark::table_store {

class ChangeWaits {
  struct Gate {
    Signal signal;
    std::size_t places = 0;
  };

 public:
  static constexpr std::size_t kMaxPlaces = 1024;

  explicit ChangeWaits(Clock& clock) : clock_(clock) {}

  /// The place of a waiter. Take it, take a ticket, look for changes, and then wait: any change that became durable
  /// since the ticket ends the wait.
  class Place {
   public:
    Place(Place&& other) noexcept;
    Place& operator=(Place&&) = delete;
    ~Place();
    [[nodiscard]] std::uint64_t feed() const { return feed_; }
    [[nodiscard]] Signal::Ticket ticket() const { return gate_->signal.ticket(); }
    /// True if woken. The place must live until then.
    Task<bool> wait(Signal::Ticket ticket, Duration timeout) {
      return gate_->signal.wait(ticket, waits_->clock_, timeout);
    }

   private:
    friend class ChangeWaits;
    Place(ChangeWaits& waits, std::uint64_t feed, std::shared_ptr<Gate> gate)
        : waits_(&waits), feed_(feed), gate_(std::move(gate)) {}
    ChangeWaits* waits_;
    std::uint64_t feed_;
    std::shared_ptr<Gate> gate_;
  };

  /// kServerBusy if there are too many already, kUnavailable once closed.
  Result<Place> take(std::uint64_t feed);
  /// Wakes waiters: changes of this feed have become durable.
  void changed(std::uint64_t feed);
  /// Ends all waits, and allows no more.
  void close();
  [[nodiscard]] bool closed();

 private:
  Clock& clock_;
  // A writer makes its change durable and then looks whether there is a place; a waiter takes a place and then looks
  // for changes. So at least one of the two sees the other.
  std::atomic<std::size_t> places_{0};
  Mutex mutex_;
  std::map<std::uint64_t, std::shared_ptr<Gate>> gates_ GUARDED_BY(mutex_);
  bool closed_ GUARDED_BY(mutex_) = false;
};

}  // namespace tidemark::table_store
