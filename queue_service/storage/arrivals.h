// Wakes receivers that wait for a message: when one has come, and when the earliest delayed one is due. A waiter takes
// a ticket before it looks into the queue; a wake-up between the look and the wait is then not lost. One timer per
// queue, none while nobody waits for a due message. Thread safe.
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

  /// The queue's gate, made if need be: it lives while somebody waits at it.
  std::shared_ptr<Gate> open(const std::string& account, const std::string& queue);
  /// A message is visible now.
  void came(const std::string& account, const std::string& queue);
  /// A message will be visible at `due`.
  void will_come(const std::string& account, const std::string& queue, Time due);
  /// Everybody has to look again.
  void changed(const std::string& account, const std::string& queue);
  void changed_everywhere();
  /// Gates, those that nobody waits at any more included: at most about twice as many as somebody waits at.
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
  /// True if woken, at once if something happened since the ticket was taken; false if `timeout` passed first.
  Task<bool> wait(std::uint64_t ticket, Duration timeout);
  /// True if the caller has to find out when the earliest delayed message is due, and tell it with will_come(). What
  /// is told meanwhile counts.
  bool needs_due();
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
  std::optional<Time> due_ GUARDED_BY(mutex_);  // earliest; may be too early
  std::optional<Time> armed_for_ GUARDED_BY(mutex_);
  std::shared_ptr<Timer> timer_ GUARDED_BY(mutex_);
};

}  // namespace tidemark::queue_service
