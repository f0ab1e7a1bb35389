// Decides which scan works next. A bounded number of scans work at a time, each for a slice; then the turn goes to the
// waiting scan that has had the fewest slices. So many table scans take a bounded share of the machine, short queries
// overtake long ones, and long ones share evenly. Thread safe; coroutines resume on their own executor.
#pragma once
#include <memory>

#include "common/base/async.h"

namespace tidemark::table_store {

struct ScanLimits {
  std::size_t running = 1;
  std::size_t waiting = 512;  // more get kServerBusy
};

class ScanTurns {
 public:
  /// The right to work. The destructor gives it back, even if the coroutine that waited for it is gone.
  class Turn {
   public:
    Turn() = default;
    Turn(Turn&&) = default;
    Turn& operator=(Turn&& other) noexcept;
    ~Turn();
    void give_back();
    explicit operator bool() const { return turns_ != nullptr; }

   private:
    friend class ScanTurns;
    struct State;
    explicit Turn(std::shared_ptr<State> turns) : turns_(std::move(turns)) {}
    std::shared_ptr<State> turns_;
  };

  explicit ScanTurns(ScanLimits limits);
  /// Waits for a turn; the caller with the lowest `slices_had` is next. Other work of the thread always goes first.
  /// kServerBusy: too many wait. kUnavailable: closed.
  Task<Result<Turn>> take(std::uint64_t slices_had);
  /// Ends all waits and gives no more turns, so that nothing is left when the executors are destroyed.
  void close();
  [[nodiscard]] std::size_t running() const;
  [[nodiscard]] std::size_t waiting() const;

 private:
  std::shared_ptr<Turn::State> state_;
};

}  // namespace tidemark::table_store
