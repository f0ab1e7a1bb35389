// Finishes changes of all kept blobs of a name (storage/kept_blobs.h), and erases objects without references: dead
// payloads, the blobs and staged blocks of deleted containers, and, once an hour, staged blocks of blobs to which none
// was added for a week (as the protocol promises). An object that has readers waits for them, and not every pass looks
// at it again. There is one pass at a time; kick() during a pass causes another one. A pass that fails is repeated
// after a while: the keys that mark objects as dead are erased last. Thread safe.
//
// If processes share the shards, a process that claims one gives up its pending payloads, and a process that serves one
// gives up those of processes that have died. The maker of such a file may still live, and make it after it was
// removed. When it learns that the upload has failed, it abandons the payload, and the file is removed again. In case
// it dies before, that is done when no upload can still be running.
#pragma once
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <unordered_set>
#include <vector>

#include "blob_store/storage/blob_keys.h"
#include "blob_store/storage/contents.h"
#include "blob_store/storage/payload_files.h"
#include "blob_store/storage/readers.h"
#include "common/base/async.h"
#include "common/base/mutex.h"
#include "common/kv/engine.h"

namespace tidemark::blob_store {

class Collector {
 public:
  /// `ages`: the clock by which staged blocks grow old; `clock`: the one for waiting.
  Collector(kv::Engine& engine, const PayloadFiles& files, Readers& readers, Clock& clock, const Clock& ages,
            Executor background)
      : engine_(engine),
        files_(files),
        readers_(readers),
        clock_(clock),
        ages_(ages),
        background_(std::move(background)) {
    readers_.when_left([this] { kick(); });
  }
  /// Pending payloads of a former owner of the shard are dead.
  enum class Former : std::uint8_t {
    kDead,      // no write comes before this, and no other process writes files
    kMayWrite,  // another process, or this one, goes on with uploads that it can no longer publish
  };
  void start(Former former = Former::kDead);
  /// The shard belongs to another process until start(). Passes only tell it of payloads that are abandoned here.
  void rest();
  void kick();
  /// Ends the pauses, and all passes but one that is being made.
  void stop();
  /// Called after a change that leaves no work: makes a pass if the last one was some time ago.
  void remind();
  /// Buries the payload, unless it was published and the caller has not learned of it.
  void abandon(PayloadId payload);
  /// Sets the function by which another process that serves the shard is told of payloads that are abandoned here. Call
  /// it before anything else.
  using TellOwner = std::function<Task<Result<void>>(std::vector<PayloadId> abandoned)>;
  void tell_owner(TellOwner tell) { tell_owner_ = std::move(tell); }
  /// Buries those of these payloads that are still pending. Processes that others take for dead may make their files
  /// later.
  Task<Result<void>> give_up(std::vector<PayloadId> payloads);
  /// Makes one pass, until only dead objects with readers are left, or an error occurs. For kick() and tests.
  Task<Result<void>> collect();

 private:
  /// The contents of a dead row.
  struct DeadRow {
    std::uint64_t id = 0;
    Dead::Kind kind = Dead::Kind::kPayload;
    PayloadId oldest = 0;  // the oldest payload in it, if it was replaced in a content that lives on
  };
  static Task<void> run(Collector* self);
  Task<Result<void>> settle_abandoned();
  Task<Result<void>> settle(const std::vector<PayloadId>& abandoned);
  Task<Result<void>> collect_dead();
  Result<std::vector<DeadRow>> find_unread(kv::KeyRange& range);
  Task<Result<void>> remove_late_files();
  [[nodiscard]] bool may_be_read(std::uint64_t content, const DeadRow& row) const;
  std::vector<DeadRow> take_unread(bool look_at_all);
  Task<Result<bool>> remove(std::vector<DeadRow> rows);
  Task<Result<bool>> remove_payloads(std::vector<PayloadId> payloads);
  Task<Result<bool>> dissolve(std::uint64_t content);
  Task<Result<void>> empty_generation(std::uint64_t generation);
  Task<Result<void>> expire_staged();
  Task<Result<void>> settle_kept();
  Task<Result<void>> purge_deleted();
  Task<Result<void>> drop_old_staged(const blob_keys::NamedKey& staged, Time now);
  kv::Engine& engine_;
  const PayloadFiles& files_;
  Readers& readers_;
  Clock& clock_;
  const Clock& ages_;
  Executor background_;
  TellOwner tell_owner_;
  std::atomic<bool> rests_{false}, stopping_{false};
  Signal woken_;
  std::atomic<int> wanted_{0};
  std::atomic<Time::rep> last_pass_{0};
  Time looked_for_staged_{}, looked_for_late_{};
  // Dead rows that wait, by the content that is being read, and the ids of all of them. Only the pass uses these.
  std::map<std::uint64_t, std::vector<DeadRow>> waiting_;
  std::unordered_set<std::uint64_t> known_;
  std::size_t passes_ = 0;  // since all of them were looked at
  Mutex mutex_;
  std::vector<PayloadId> abandoned_ GUARDED_BY(mutex_);
};

/// Buries a payload that will not be published. Has no effect if it is not pending: it is dead, or was published
/// without the caller learning of it.
Result<void> bury_pending(kv::Transaction& txn, PayloadId payload);

}  // namespace tidemark::blob_store
