// Finishes what was begun with all that is kept of a blob (storage/kept_blobs.h), and erases what nothing refers to any
// more: dead payloads, the blobs and staged blocks of deleted containers, and, once
// an hour, staged blocks of blobs to which none was added for a week (as the protocol promises). What somebody reads
// waits until nobody does. There is one pass at a time; kick() during a pass causes another one. The keys that say what
// is dead are erased last, so the next pass makes up for a failure. Thread safe.
#pragma once
#include <atomic>
#include <memory>

#include "blob_store/storage/blob_keys.h"
#include "blob_store/storage/payload_files.h"
#include "blob_store/storage/readers.h"
#include "common/base/async.h"
#include "common/base/mutex.h"
#include "common/kv/engine.h"

namespace tidemark::blob_store {

class Collector {
 public:
  /// `ages`: the clock by which staged blocks grow old.
  Collector(kv::Engine& engine, const PayloadFiles& files, Readers& readers, const Clock& ages, Executor background)
      : engine_(engine), files_(files), readers_(readers), ages_(ages), background_(std::move(background)) {
    readers_.when_left([this] { kick(); });
  }
  /// Call it before anything is written. What is pending then was left by an earlier process and is dead.
  void start();
  void kick();
  /// After a change that leaves nothing to do: makes a pass if the last one was some time ago.
  void remind();
  /// Buries the payload in the next pass: it was abandoned when the store had too much to do.
  void abandon_later(PayloadId payload);
  /// Makes one pass, until nothing is dead or an error occurs. For kick() and tests.
  Task<Result<void>> collect();

 private:
  static Task<void> run(Collector* self);
  Task<Result<void>> bury_abandoned();
  Task<Result<void>> collect_dead();
  Task<Result<bool>> remove_payloads(std::vector<PayloadId> payloads);
  Task<Result<void>> dissolve(std::uint64_t content);
  Task<Result<void>> empty_generation(std::uint64_t generation);
  Task<Result<void>> expire_staged();
  Task<Result<void>> settle_kept();
  Task<Result<void>> purge_deleted();
  Task<Result<void>> drop_old_staged(const blob_keys::NamedKey& staged, Time now);
  kv::Engine& engine_;
  const PayloadFiles& files_;
  Readers& readers_;
  const Clock& ages_;
  Executor background_;
  std::atomic<int> wanted_{0};
  std::atomic<Time::rep> last_pass_{0};
  Time looked_for_staged_{};
  Mutex mutex_;
  std::vector<PayloadId> abandoned_ GUARDED_BY(mutex_);
};

/// A payload that nobody will publish.
void bury_pending(kv::Transaction& txn, PayloadId payload);

}  // namespace tidemark::blob_store
