// Wakes receivers that wait for a message, when one arrives or the earliest delayed one is due. A receiver takes a
// ticket before it reads the queue, so no wake-up between the read and the wait is lost. A queue has one timer, and
// none while no receiver waits for a due message. Thread safe.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "common/base/async.h"
#include "common/base/mutex.h"

namespace tidemark::queue_service {

class Arrivals {
 public:
  class Gate;
  explicit Arrivals(Clock& clock) : clock_(clock) {}

  /// Returns the queue's gate, created if necessary. It lives while a receiver waits at it.
  std::shared_ptr<Gate> open(const std::string& account, const std::string& queue);
  /// A message is visible now.
  void came(const std::string& account, const std::string& queue);
  /// A message will be visible at `due`.
  void will_come(const std::string& account, const std::string& queue, Time due);
  /// All receivers have to read the queue again.
  void changed(const std::string& account, const std::string& queue);
  void changed_everywhere();
  /// Returns the number of gates, including unused ones; at most about twice the number of those in use.
  [[nodiscard]] std::size_t remembered() const;

 private:
  static constexpr std::size_t kPruneAtLeast = 64;
  std::shared_ptr<Gate> find(const std::string& account, const std::string& queue);
  Clock& clock_;
  mutable Mutex mutex_;
  std::map<std::pair<std::string, std::string>, std::weak_ptr<Gate>> gates_ GUARDED_BY(mutex_);
  std::size_t prune_at_ GUARDED_BY(mutex_) = kPruneAtLeast;
};

class Arrivals::Gate : public std::enable_shared_from_this<Arrivals::Gate> {
 public:
  explicit Gate(Clock& clock) : clock_(clock) {}
  ~Gate();
  [[nodiscard]] std::uint64_t ticket() const;
  /// True if woken, which happens at once if something happened since the ticket was taken; false after `timeout`.
  Task<bool> wait(std::uint64_t ticket, Duration timeout);
  /// True if the caller must find out when the earliest delayed message is due and report it with will_come(). Times
  /// that are reported meanwhile count.
  bool needs_due();
  /// True once in each interval, for the first caller.
  bool is_turn(Duration interval);
  void came();
  void will_come(Time due);
  void changed();

 private:
  struct Waiter;
  void arm() REQUIRES(mutex_);
  void resume(const std::shared_ptr<Waiter>& waiter, bool woken) REQUIRES(mutex_);
  Clock& clock_;
  mutable Mutex mutex_;
  std::uint64_t events_ GUARDED_BY(mutex_) = 0;
  std::list<std::shared_ptr<Waiter>> waiters_ GUARDED_BY(mutex_);
  bool due_known_ GUARDED_BY(mutex_) = false;
  std::optional<Time> due_ GUARDED_BY(mutex_);  // the earliest due time; may be too early
  std::optional<Time> armed_for_ GUARDED_BY(mutex_);
  std::shared_ptr<Timer> timer_ GUARDED_BY(mutex_);
  std::optional<Duration> last_turn_ GUARDED_BY(mutex_);
};

}  // namespace tidemark::queue_service
