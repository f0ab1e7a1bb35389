// Per queue generation, a place below which no live message is: scans start there instead of walking over the
// tombstones of everything that was once in the queue. The hint may be too low, never too high. It changes only inside
// transaction bodies, which run one at a time; forget() after a body ran again or its commit failed. A reader takes its
// snapshot first and the hint second. Thread safe.
#pragma once
#include <mutex>
#include <unordered_map>

#include "queue_service/model/pop_receipt.h"

namespace tidemark::queue_service {

class FrontHints {
 public:
  /// The lowest place if nothing is known.
  [[nodiscard]] Place front(std::uint64_t generation) const;
  /// A message was put here.
  void lower(std::uint64_t generation, const Place& place);
  /// Nothing live is below `place`.
  void raise(std::uint64_t generation, const Place& place);
  /// A tombstone was left here.
  void erased(std::uint64_t generation, const Place& place);
  /// Would a walk from the hint to `now` cross tombstones for long enough that raising the hint pays?
  [[nodiscard]] bool is_behind(std::uint64_t generation, Time now) const;
  void forget(std::uint64_t generation);

 private:
  struct Hint {
    Place front;
    Place last_tombstone;
  };
  mutable std::mutex mutex_;
  std::unordered_map<std::uint64_t, Hint> hints_;
};

}  // namespace tidemark::queue_service
