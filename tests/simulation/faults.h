// The faults of hosts, each kind now and then, from start() to stop(): a host crashes somewhere in its next handlers,
// is frozen for about as long as a lease, or has its clock set. One thread.
#pragma once
#include <functional>
#include <utility>
#include <vector>

#include "tests/simulation/scheduler.h"

namespace tidemark::simulation {

/// The longest time between two faults of a kind; zero: there are none.
struct FaultGaps {
  Duration crash{}, freeze{}, jump{};
};

class Faults {
 public:
  /// `jump`: about how far a clock is set.
  Faults(Scheduler& scheduler, FaultGaps gaps, Duration jump) : scheduler_(scheduler), gaps_(gaps), jump_(jump) {}

  /// `crash` makes a host that lives crash soon. `freezable`: hosts, each with the lease that it may lose.
  void start(std::function<void(int host)> crash, std::vector<std::pair<int, Duration>> freezable);
  /// Ends the faults for good: planned crashes are cancelled, and frozen hosts go on.
  void stop();
  /// Tells whether there are no faults, because they have not begun or have ended.
  [[nodiscard]] bool calm() const { return calm_; }
  /// With this chance, in ten thousand, the host crashes within so many handlers.
  void strike(int host, std::uint64_t chance, std::uint64_t handlers);

 private:
  void plan_crash();
  void plan_freeze();
  void plan_jump();

  Scheduler& scheduler_;
  const FaultGaps gaps_;
  const Duration jump_;
  std::function<void(int host)> crash_;
  std::vector<std::pair<int, Duration>> freezable_;
  bool calm_ = true;
};

}  // namespace tidemark::simulation
