#include "common/kv/rocksdb_engine.h"

#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <limits>
#include <map>
#include <thread>
#include <vector>

#include "common/base/mutex.h"
#include "common/kv/group_handover.h"
#include "common/kv/rocksdb_figures.h"
#include "common/kv/rocksdb_rows.h"
#include "common/kv/write_overlay.h"

namespace tidemark::kv {
namespace {

using detail::Database;
using detail::error_of;
using detail::slice;
using detail::view;

// The limits of one write to the log: enough to share an fsync widely, little enough to keep it short.
constexpr std::size_t kMaxGroupTransactions = 512;
constexpr std::size_t kMaxGroupBytes = 4UL << 20;  // up to four copies of them exist
constexpr std::size_t kRowOverhead = 16;           // in a batch, beside key and value: an estimate

constexpr std::uint64_t kGroupBounds[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512};
constexpr std::uint64_t kWaitBoundsUs[] = {100,    250,    500,     1'000,   2'500,     5'000,     10'000,
                                           25'000, 50'000, 100'000, 250'000, 1'000'000, 5'000'000, 30'000'000};

const FailStep kWriteStep("kv.write");  // a group, with its fsync
const FailStep kEraseRangeStep("kv.erase_range");

class RocksEngine final : public RocksDbEngine {
 public:
  RocksEngine(Database db, const RocksDbOptions& options)
      : db_(std::move(db)),
        stored_{db_, std::make_shared<RecentRows>(options.recent_rows_bytes)},
        counters_(std::static_pointer_cast<const detail::DatabaseCounters>(db_->GetDBOptions().statistics)),
        max_queued_(options.max_queued_transactions) {
    write_options_.sync = options.durability == Durability::kFsync;
    writer_ = std::thread([this] { write_groups(); });
    helper_ = std::thread([this] { help(); });
  }
  RocksEngine(const RocksEngine&) = delete;
  RocksEngine& operator=(const RocksEngine&) = delete;
  ~RocksEngine() override {
    {
      MutexLock lock(mutex_);
      hold_.reset();
      hold_changed_.notify_all();
      wake(handover_.stop());
    }
    writer_.join();
    helper_.join();
  }

  std::shared_ptr<const Reader> snapshot() const override { return detail::snapshot_of(stored_); }

  Result<std::optional<std::string>> get(std::string_view key) const override { return detail::read_row(stored_, key); }

  void submit(TransactionBody body, Completion done) override {
    const auto now = std::chrono::steady_clock::now();
    MutexLock lock(mutex_);
    if (refusal_ || queue_.size() >= max_queued_) {
      auto refusal = refusal_.value_or(make_error(ErrorCode::kServerBusy));
      lock.unlock();
      body = nullptr;
      return done(fail(std::move(refusal)));
    }
    queue_.push_back({std::move(body), std::move(done), {}, now});
    const auto woken = handover_.submitted(queue_.size());
    lock.unlock();
    wake(woken);
  }

  void refuse_writes(std::optional<Error> why) override {
    MutexLock lock(mutex_);
    refusal_ = std::move(why);
  }

  std::optional<Error> failure() const override {
    MutexLock lock(mutex_);
    return failure_ ? failure_ : refusal_;
  }

  void erase_ranges(std::vector<KeyRange> ranges, Completion done) override {
    MutexLock lock(mutex_);
    queue_.push_back({nullptr, std::move(done), std::move(ranges), std::chrono::steady_clock::now()});
    const auto woken = handover_.submitted(queue_.size());
    lock.unlock();
    wake(woken);
  }

  std::size_t queue_depth() const override {
    MutexLock lock(mutex_);
    return queue_.size();
  }

  EngineFigures figures() const override {
    EngineFigures out;
    out.group_bounds = kGroupBounds;
    out.group_transactions = group_transactions_.counts();
    out.wait_bounds_us = kWaitBoundsUs;
    out.waits_us = waits_us_.counts();
    counters_->fill(out);
    const auto recent = stored_.recent->figures();
    out.recent_reads = recent.found;
    out.asked_reads = recent.not_found;
    detail::fill_properties(*db_, out);
    return out;
  }

  EngineMemory memory() const override {
    const auto of = [this](const std::string& property) {
      std::uint64_t value = 0;
      return db_->GetIntProperty(property, &value) ? static_cast<std::size_t>(value) : 0;
    };
    return {of(rocksdb::DB::Properties::kBlockCacheUsage) + stored_.recent->figures().bytes,
            of(rocksdb::DB::Properties::kSizeAllMemTables)};
  }

  Result<void> flush() override {
    const auto status = db_->Flush(rocksdb::FlushOptions());
    return status.ok() ? Result<void>() : fail(error_of(status));
  }

  Result<void> hold_writes(std::chrono::milliseconds at_most) override {
    MutexLock lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (hold_ && now < hold_->until) return fail(ErrorCode::kServerBusy);
    hold_ = Hold{now, now + at_most};
    while (on_disk_) hold_changed_.wait(mutex_);
    return failure_ ? fail(*failure_) : Result<void>();
  }

  Result<std::chrono::microseconds> resume_writes() override {
    MutexLock lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    const auto ended = std::exchange(hold_, std::nullopt);
    hold_changed_.notify_all();
    if (!ended || now >= ended->until) return fail(ErrorCode::kOperationTimedOut, "Writes were held for too long.");
    return std::chrono::duration_cast<std::chrono::microseconds>(now - ended->since);
  }

  Result<void> checkpoint(const std::filesystem::path& directory) override {
    return detail::make_checkpoint(*db_, directory);
  }

  std::optional<std::uint64_t> estimate_bytes(const KeyRange& range) const override {
    return detail::estimate_bytes(*db_, range);
  }

  StoredSize size() const override { return detail::size_of(*db_); }

  Result<std::vector<StoredFile>> files() const override { return detail::files_of(*db_); }

 private:
  struct Hold {
    std::chrono::steady_clock::time_point since, until;
  };
  struct Waiting {
    TransactionBody body;  // if there is none, an erasure:
    Completion done;
    std::vector<KeyRange> erased;
    std::chrono::steady_clock::time_point since;
  };

  /// Transactions that go to the log in one write.
  struct Group {
    WriteOverlay writes;
    std::vector<KeyRange> erased;
    std::vector<Waiting> members;  // their bodies have run
    std::vector<Result<void>> outcomes;

    void clear() {
      writes.clear();
      erased.clear();
    }
    [[nodiscard]] bool full() const {
      return members.size() >= kMaxGroupTransactions || writes.bytes() >= kMaxGroupBytes;
    }
  };

  void write_groups() {
    MutexLock lock(mutex_);
    for (;;) {
      auto turn = handover_.writers_turn();
      for (; turn == GroupHandover::Turn::kWait; turn = handover_.writers_turn()) wake_writer_.wait(mutex_);
      if (turn == GroupHandover::Turn::kEnd) break;
      wake(run_bodies());
      auto& group = groups_[handover_.begin_write()];
      writing_ = true;
      await_end_of_hold();
      on_disk_ = true;
      lock.unlock();
      const auto failure = write(group);
      auto members = std::exchange(group.members, {});
      measure(members);
      auto outcomes = std::exchange(group.outcomes, {});
      // Outcomes may rest on writes of the same group, so a failed write fails all of them, refusals included.
      if (failure) outcomes.assign(members.size(), fail(*failure));
      tell(std::move(members), std::move(outcomes));
      lock.lock();
      handover_.end_write();
      writing_ = false;
      on_disk_ = false;
      if (hold_) hold_changed_.notify_all();
    }
    wake(handover_.end());
  }

  void await_end_of_hold() REQUIRES(mutex_) {
    while (hold_ && std::chrono::steady_clock::now() < hold_->until) hold_changed_.wait_until(mutex_, hold_->until);
  }

  void help() {
    MutexLock lock(mutex_);
    for (;;) {
      auto turn = handover_.helpers_turn(queue_.size());
      for (; turn == GroupHandover::Turn::kWait; turn = handover_.helpers_turn(queue_.size())) {
        wake_helper_.wait(mutex_);
      }
      if (turn == GroupHandover::Turn::kEnd) return;
      wake(run_bodies());
    }
  }

  /// Runs waiting bodies into the filling group, without the lock. The running thread owns that group and `taken_`.
  GroupHandover::Wake run_bodies() REQUIRES(mutex_) {
    const auto run = handover_.begin_run();
    auto& group = groups_[run.filling];
    auto& other = groups_[1 - run.filling];
    const auto* ahead = run.built_on_other ? &other.writes : nullptr;
    const auto go_on = [&] { return !group.full() && (!run.while_writing || writing_); };
    runner_.take();
    bool done = !run.other_is_done;  // the rows of the other group are thousands of small allocations
    while (go_on() && !(taken_.empty() && queue_.empty())) {
      if (taken_.empty()) taken_.swap(queue_);
      const bool failed = failure_.has_value();
      mutex_.unlock();
      if (!std::exchange(done, true)) other.clear();
      for (; !taken_.empty() && go_on(); taken_.pop_front()) {
        group.outcomes.push_back(failed ? Result<void>() : carry_out(taken_.front(), group, ahead));
        group.members.push_back(std::move(taken_.front()));
      }
      mutex_.lock();
    }
    if (!done) other.clear();
    runner_.give_back();
    return handover_.end_run(run, group.members.size(), group.full());
  }

  void wake(GroupHandover::Wake woken) {
    if (woken == GroupHandover::Wake::kWriter) wake_writer_.notify_one();
    if (woken == GroupHandover::Wake::kHelper) wake_helper_.notify_one();
  }

  std::optional<Error> write(const Group& group) {
    const auto& writes = group.writes;
    auto failure = failure_now();
    if (failure || (writes.rows().empty() && group.erased.empty())) return failure;
    rocksdb::WriteBatch batch(writes.bytes() + writes.rows().size() * kRowOverhead);
    rocksdb::Status status;
    for (auto range = group.erased.begin(); status.ok() && range != group.erased.end(); ++range) {
      status = erase_range(*range, batch);
    }
    if (!group.erased.empty()) kEraseRangeStep.before.reach();
    for (auto row = writes.rows().begin(); status.ok() && row != writes.rows().end(); ++row) {
      const auto& [key, value] = *row;
      status = value ? batch.Put(slice(key), slice(*value)) : batch.Delete(slice(key));
    }
    kWriteStep.before.reach();
    change_recent_rows(group);
    const detail::HintedInserts hints(group.erased.empty());
    if (status.ok()) status = db_->Write(write_options_, &batch);
    if (!status.ok()) stored_.recent->erase({}, std::numeric_limits<RecentRows::Moment>::max());
    kWriteStep.after.reach();
    if (!group.erased.empty()) kEraseRangeStep.after.reach();
    if (!status.ok()) failure = remember_failure(error_of(status));
    return failure;
  }

  /// No snapshot shows a moment within a commit.
  void change_recent_rows(const Group& group) {
    const auto from = stored_.now() + 1;
    for (const auto& range : group.erased) stored_.recent->erase(range, from);
    for (const auto& [key, value] : group.writes.rows()) stored_.recent->change(key, value, from);
  }

  rocksdb::Status erase_range(const KeyRange& range, rocksdb::WriteBatch& batch) {
    auto end = range.upper;
    if (end.empty()) {
      const std::unique_ptr<rocksdb::Iterator> it(db_->NewIterator(rocksdb::ReadOptions()));
      it->SeekToLast();
      if (!it->status().ok() || !it->Valid()) return it->status();
      end = it->key().ToString() + '\0';  // just after the last key
    }
    return end <= range.lower ? rocksdb::Status::OK() : batch.DeleteRange(slice(range.lower), slice(end));
  }

  void measure(const std::vector<Waiting>& members) {
    using std::chrono::microseconds;
    group_transactions_.observe(members.size());
    const auto now = std::chrono::steady_clock::now();
    for (const auto& member : members) {
      waits_us_.observe(
          static_cast<std::uint64_t>(std::chrono::duration_cast<microseconds>(now - member.since).count()));
    }
  }

  static void tell(std::vector<Waiting> members, std::vector<Result<void>> outcomes) {
    std::vector<Completion::Due> group;
    group.reserve(members.size());
    for (std::size_t i = 0; i < members.size(); ++i) {
      members[i].body = nullptr;  // destroy its captures before their owner is told
      group.push_back({std::move(members[i].done), std::move(outcomes[i])});
    }
    Completion::deliver(std::move(group));
  }

  Result<void> carry_out(Waiting& waiting, Group& group, const WriteOverlay* ahead) {
    if (waiting.body) return run_body(waiting.body, group, ahead);
    for (auto& range : waiting.erased) group.erased.push_back(std::move(range));
    return {};
  }

  Result<void> run_body(const TransactionBody& body, Group& group, const WriteOverlay* ahead) {
    detail::GroupTransaction txn(stored_, group.writes, ahead);
    Result<void> outcome;
    try {
      outcome = body(txn);
    } catch (const std::exception& e) {
      outcome = fail(error_for_log(ErrorCode::kInternalError, std::string("a transaction body threw: ") + e.what()));
    }
    return txn.finish(std::move(outcome));
  }

  std::optional<Error> failure_now() const {
    MutexLock lock(mutex_);
    return failure_;
  }

  /// The first failure stays: after it, the content of the disk is unknown until the database is opened again.
  Error remember_failure(Error error) {
    MutexLock lock(mutex_);
    error.code = ErrorCode::kStorageFailure;
    error.message = default_message_of(ErrorCode::kStorageFailure);
    if (!failure_) failure_ = std::move(error);
    return *failure_;
  }

  Database db_;
  const detail::Stored stored_;
  const std::shared_ptr<const detail::DatabaseCounters> counters_;
  Histogram group_transactions_{kGroupBounds};
  Histogram waits_us_{kWaitBoundsUs};
  rocksdb::WriteOptions write_options_;
  const std::size_t max_queued_;
  mutable Mutex mutex_;
  CondVar wake_writer_;
  CondVar wake_helper_;
  GroupHandover handover_ GUARDED_BY(mutex_);
  std::deque<Waiting> queue_ GUARDED_BY(mutex_);
  std::optional<Error> failure_ GUARDED_BY(mutex_);  // of the disk
  std::optional<Error> refusal_ GUARDED_BY(mutex_);  // refuse_writes()
  std::optional<Hold> hold_ GUARDED_BY(mutex_);      // hold_writes()
  bool on_disk_ GUARDED_BY(mutex_) = false;          // the writer is past the point at which a hold could stop it
  std::condition_variable_any hold_changed_;
  // Whether a group is being written. The helper reads it between two bodies; it changes with the handover.
  std::atomic<bool> writing_ = false;
  Role runner_;
  std::deque<Waiting> taken_ GUARDED_BY(runner_);
  std::array<Group, 2> groups_;
  std::thread writer_;
  std::thread helper_;
};

}  // namespace

Result<std::unique_ptr<RocksDbEngine>> detail::open_rocksdb_on(const RocksDbOptions& options, rocksdb::Env* env) {
  auto db = TRY(open_database(options, env));
  return std::make_unique<RocksEngine>(std::move(db), options);
}

Result<std::unique_ptr<RocksDbEngine>> open_rocksdb(const RocksDbOptions& options) {
  return detail::open_rocksdb_on(options, nullptr);
}

Result<std::unique_ptr<StoredEngine>> open_rocksdb_to_read(const RocksDbOptions& options) {
  return std::make_unique<RocksEngine>(TRY(detail::open_database_to_read(options)), options);
}

}  // namespace tidemark::kv
