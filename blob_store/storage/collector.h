// Erases what nothing refers to any more: dead payloads, the blobs and staged blocks of deleted containers, and, looked
// for once an hour, staged blocks to which none was added for a week (as the protocol promises). One pass at a time;
// kick() during a pass makes another follow. Thread safe. A failure is left for the next pass: the keys that say what
// is dead are erased last.
#pragma once
#include <atomic>
#include <memory>

#include "common/base/async.h"
#include "common/kv/engine.h"

namespace tidemark::blob_store {

class Collector {
 public:
  Collector(kv::Engine& engine, Clock& clock, Executor background)
      : engine_(engine), clock_(clock), background_(std::move(background)) {}
  /// Call before anything is written: whatever is pending then was left by an earlier process and is dead.
  void start();
  void kick();
  /// One pass: until nothing is dead or an error. For kick() and tests.
  Task<Result<void>> collect();

 private:
  static Task<void> run(Collector* self);
  Task<Result<std::size_t>> collect_payloads();
  Task<Result<void>> empty_generation(std::uint64_t generation);
  Task<Result<void>> expire_staged();
  kv::Engine& engine_;
  Clock& clock_;
  Executor background_;
  std::atomic<int> wanted_{0};
  Time looked_for_staged_{};
};

}  // namespace tidemark::blob_store
