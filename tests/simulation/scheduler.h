// The simulation's time and order. Events wait in one queue by virtual time, with ties broken at random; between events
// every process runs its ready handlers, one at a time, in an order drawn from the seed. So one seed is one run. A
// process lives in a Life, which owns its io_context, clock and calls, and can end at any handler. One thread; nothing
// here reads a wall clock or an address.
#pragma once
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "common/base/async.h"
#include "tests/simulation/trace.h"

namespace tidemark::simulation {

/// A small generator of its own, so that a seed means the same everywhere (splitmix64).
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next();
  /// Uniform in [0, bound); bound > 0.
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }
  bool chance(std::uint64_t in_ten_thousand) { return below(10'000) < in_ten_thousand; }
  Duration between(Duration low, Duration high) {
    return low + Duration(static_cast<std::int64_t>(below(static_cast<std::uint64_t>((high - low).count()) + 1)));
  }

 private:
  std::uint64_t state_;
};

class Scheduler;
class Life;

/// The program that runs inside a life. Destroyed before the life's io_context.
class Program {
 public:
  virtual ~Program() = default;
  /// Lets every coroutine of a dead process come to its end: calls and transactions fail, and timers fire at once.
  virtual void unwind() {}
};

/// A call on its way, as the caller sees it.
struct PendingCall {
  std::function<void(Result<std::string>)> resume;
  std::shared_ptr<Timer> deadline;
  Executor executor;
  int callee = 0;
};

/// One incarnation of a process, from start to crash.
class Life {
 public:
  Life(Scheduler& scheduler, int host, std::uint64_t number, Duration skew);
  ~Life();
  Life(const Life&) = delete;
  Life& operator=(const Life&) = delete;

  [[nodiscard]] int host() const { return host_; }
  [[nodiscard]] std::uint64_t number() const { return number_; }
  [[nodiscard]] bool dead() const { return dead_; }
  Executor executor() { return io_.get_executor(); }
  Clock& clock();
  /// Sets the host's clock forward or back. This does not affect timers, which wait for a duration.
  void jump_clock(Duration by);
  bool run_one() { return io_.poll_one() > 0; }
  /// Ends everything in this life, without any further effect outside of it, and frees it.
  void kill();

  std::uint64_t add_call(std::shared_ptr<PendingCall> call);
  /// Does nothing if the call has ended.
  void end_call(std::uint64_t id, Result<std::string> result);
  void end_calls_to(int callee, const Error& error);

  std::unique_ptr<Program> program;

 private:
  class LifeClock;
  int host_;
  std::uint64_t number_;
  bool dead_ = false;
  std::unique_ptr<LifeClock> clock_;
  std::uint64_t next_call_ = 0;
  std::map<std::uint64_t, std::shared_ptr<PendingCall>> calls_;
  asio::io_context io_;
  asio::executor_work_guard<asio::io_context::executor_type> guard_;
};

/// A place for one process after another. While it is frozen, its handlers wait and its clock goes on (SIGSTOP).
struct Host {
  std::string name;
  std::unique_ptr<Life> life;  // null: the host is down
  bool frozen = false;
  std::uint64_t lives = 0;
  /// The handlers that run before it crashes; negative: no crash is planned.
  int doom = -1;
};

class Scheduler {
 public:
  Scheduler(std::uint64_t seed, Trace& trace) : dice_(seed), trace_(trace) {}
  ~Scheduler() { end_all(); }
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  [[nodiscard]] Time now() const { return now_; }
  /// The present time for histories (tests/histories).
  [[nodiscard]] std::int64_t moment() const { return now_.time_since_epoch() / std::chrono::microseconds(1); }
  Dice& dice() { return dice_; }
  Trace& trace() { return trace_; }
  void after(Duration delay, std::function<void()> event);
  int add_host(std::string name);
  Host& host(int index) { return *hosts_[static_cast<std::size_t>(index)]; }
  [[nodiscard]] int host_count() const { return static_cast<int>(hosts_.size()); }
  /// Starts a new life on a host that is down; the caller makes its program.
  Life& start_life(int host, Duration skew);
  void crash(int host);
  /// Ends every life at the end of the run.
  void end_all();
  /// Returns the host's present life if it has this number, otherwise null.
  Life* find_life(int host, std::uint64_t number);
  /// Called after the crash of a host, to plan its restart.
  std::function<void(int)> on_crash;

  /// Runs until `done`, which is asked after each event, or until `limit`. False: the limit came first.
  bool run_until(Time limit, const std::function<bool()>& done);

 private:
  struct Event {
    Time at;
    std::uint64_t tie;
    std::uint64_t sequence;
    std::shared_ptr<std::function<void()>> run;
    bool operator<(const Event& other) const {  // the queue's top is its greatest
      return std::tie(other.at, other.tie, other.sequence) < std::tie(at, tie, sequence);
    }
  };
  void run_ready();

  Dice dice_;
  Trace& trace_;
  Time now_ = Time(std::chrono::sys_days{std::chrono::year{2026} / 1 / 1});
  std::uint64_t sequence_ = 0;
  std::priority_queue<Event> events_;
  std::vector<std::unique_ptr<Host>> hosts_;
  std::vector<int> order_;
};

}  // namespace tidemark::simulation
