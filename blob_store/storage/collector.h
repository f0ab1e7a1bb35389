// Erases what nothing refers to any more: dead payloads, the blobs and staged blocks of deleted containers, and, once
// an hour, staged blocks of blobs to which none was added for a week (as the protocol promises). There is one pass at a
// time; kick() during a pass causes another one. The keys that say what is dead are erased last, so the next pass makes
// up for a failure. Thread safe.
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
  /// Call it before anything is written. What is pending then was left by an earlier process and is dead.
  void start();
  void kick();
  /// Makes one pass, until nothing is dead or an error occurs. For kick() and tests.
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
