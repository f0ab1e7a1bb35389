// Whose turn it is to scan. Only so many scans work at a time, each for a slice; then it passes its turn to the one
// that has had least of those that wait, and waits itself. So a crowd of table scans takes a bounded share of the
// machine, a short query passes long ones, and long ones share evenly. Thread safe; coroutines resume on their own
// executor.
#pragma once
#include <memory>

#include "common/base/async.h"

namespace tidemark::table_store {

struct ScanLimits {
  std::size_t running = 1;
  std::size_t waiting = 512;  // beyond: kServerBusy
};

class ScanTurns {
 public:
  /// The right to work. Gives itself back when destroyed, also if whoever waited for it is gone.
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
  /// Waits; `slices_had` is the caller's place in the queue. Always lets other work of the thread pass first.
  /// kServerBusy: too many wait. kUnavailable: closed.
  Task<Result<Turn>> take(std::uint64_t slices_had);
  /// No more turns: whoever waits is told, so that nothing of it is left when its executor goes.
  void close();
  [[nodiscard]] std::size_t running() const;
  [[nodiscard]] std::size_t waiting() const;

 private:
  std::shared_ptr<Turn::State> state_;
};

}  // namespace tidemark::table_store
