#include "common/postgres/postgres_engine.h"

#include <time.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <thread>

#include "common/base/mutex.h"
#include "common/postgres/postgres_reads.h"
#include "common/postgres/shared_known_rows.h"

namespace tidemark::kv {
namespace {

using detail::OwnedShard;
using detail::Reads;

constexpr std::size_t kMaxTogether = 512;
constexpr std::size_t kMaxBytesTogether = 8UL << 20;
// The number of rows that are fetched for the walk of a body; four times as many each time the body is run again.
constexpr std::size_t kFirstRows = 16;
constexpr std::size_t kMostRows = 65536;
/// A body that reads something else in each run would never end.
constexpr int kMostRuns = 10'000;
/// How often an idle owner makes sure that it is still the owner; more often if its lease is short.
constexpr std::chrono::milliseconds kBetweenLooks{2'000};

constexpr std::uint64_t kCommitBoundsUs[] = {250,    500,     1'000,   2'500,     5'000,     10'000,    25'000,
                                             50'000, 100'000, 250'000, 1'000'000, 5'000'000, 30'000'000};

const FailStep kCommitStep("kv.postgres.commit");
const FailStep kEraseStep("kv.postgres.erase");

/// One body's view: the writes of its group over the known rows. Reads of other rows are noted as missing.
class KnownTransaction final : public Transaction {
 public:
  KnownTransaction(const KnownRows& known, WriteOverlay& writes, KnownRows::Missing& missing, std::size_t limit)
      : known_(known), writes_(writes), missing_(missing), limit_(limit) {
    writes_.begin();
  }

  Result<std::optional<std::string>> get(std::string_view key) const override {
    if (const auto* written = writes_.find(key)) return *written;
    if (const auto* known = known_.find(key)) return *known;
    mine_.keys.emplace_back(key);
    return fail(ErrorCode::kServerBusy);
  }
  std::unique_ptr<Cursor> scan(const KeyRange& range, Direction direction) const override {
    return overlaid({&writes_, nullptr}, known_.scan(range, direction, limit_, mine_), range, direction);
  }
  void put(std::string_view key, std::string_view value) override {
    if (key.size() > kLongestPostgresKey) too_long_ = true;
    writes_.put(key, value);
  }
  void erase(std::string_view key) override { writes_.erase(key); }

  /// Returns nothing if the body must be run again, regardless of its outcome without the rows that it could not read.
  std::optional<Result<void>> finish(Result<void> outcome) {
    if (!mine_.empty()) {
      missing_.add(std::move(mine_));
      writes_.undo();
      return std::nullopt;
    }
    if (outcome && too_long_) {
      outcome = fail(ErrorCode::kInvalidInput, "The names are too long for this engine: their key has more than " +
                                                   std::to_string(kLongestPostgresKey) + " bytes.");
    }
    if (!outcome) writes_.undo();
    return outcome;
  }

 private:
  const KnownRows& known_;
  WriteOverlay& writes_;
  KnownRows::Missing& missing_;
  const std::size_t limit_;
  mutable KnownRows::Missing mine_;
  bool too_long_ = false;
};

class OwnerEngine final : public PostgresEngine {
 public:
  explicit OwnerEngine(const PostgresOptions& options) : options_(options), reads_(std::make_shared<Reads>(options)) {}
  OwnerEngine(const OwnerEngine&) = delete;
  OwnerEngine& operator=(const OwnerEngine&) = delete;
  ~OwnerEngine() override {
    {
      MutexLock lock(mutex_);
      stopping_ = true;
      changed_.notify_one();
    }
    if (writer_.joinable()) writer_.join();
    if (shard_) shard_->release();
  }

  Result<void> start() {
    shard_.emplace(TRY(options_.seen ? OwnedShard::claim_seen(options_) : OwnedShard::claim(options_)));
    writer_ = std::thread([this] { work(); });
    return {};
  }

  std::shared_ptr<const Reader> snapshot() const override {
    // The lease is checked afterwards: a snapshot shared with an earlier reader must not hide the writes of the next
    // owner.
    auto shared = reads_->snapshot();
    return shard_->sure() ? std::move(shared) : reads_->fresh_snapshot();
  }
  Result<std::optional<std::string>> get(std::string_view key) const override {
    // The lease is checked afterwards: if it still holds, no other process can have written until then.
    if (auto known = known_.find(key); known && shard_->sure()) {
      ++known_reads_;
      return std::move(*known);
    }
    ++asked_reads_;
    const auto forgotten = known_.forgotten();
    auto found = reads_->get(key);
    if (found && options_.lease.count() > 0 && known_.suggest(key, *found, forgotten)) {
      MutexLock lock(mutex_);
      changed_.notify_one();
    }
    return found;
  }

  void submit(TransactionBody body, Completion done) override {
    MutexLock lock(mutex_);
    auto refusal = why_refused();
    if (!refusal && queue_.size() >= options_.max_queued_transactions) refusal = make_error(ErrorCode::kServerBusy);
    if (refusal) {
      lock.unlock();
      body = nullptr;
      return done(fail(std::move(*refusal)));
    }
    queue_.push_back({std::move(body), std::move(done)});
    ++submitted_;
    changed_.notify_one();
  }

  void refuse_writes(std::optional<Error> why) override {
    MutexLock lock(mutex_);
    refusal_ = std::move(why);
  }

  std::optional<Error> failure() const override {
    MutexLock lock(mutex_);
    return why_refused();
  }

  void erase_ranges(std::vector<KeyRange> ranges, Completion done) override {
    MutexLock lock(mutex_);
    erasures_.push_back({std::move(ranges), std::move(done), submitted_});
    changed_.notify_one();
  }

  std::size_t queue_depth() const override {
    MutexLock lock(mutex_);
    return queue_.size();
  }

  Result<void> flush() override { return no_files(); }
  Result<void> hold_writes(std::chrono::milliseconds) override { return no_files(); }
  Result<std::chrono::microseconds> resume_writes() override { return no_files(); }
  Result<void> checkpoint(const std::filesystem::path&) override { return no_files(); }
  std::optional<std::uint64_t> estimate_bytes(const KeyRange&) const override { return std::nullopt; }
  Result<std::vector<StoredFile>> files() const override { return std::vector<StoredFile>(); }

  EngineMemory memory() const override { return {known_.bytes(), 0}; }

  std::int64_t epoch() const override { return shard_->epoch(); }
  void renewed(std::int64_t epoch, std::chrono::nanoseconds sent) override { shard_->renewed(epoch, sent); }
  std::chrono::nanoseconds lease_ends() const override { return shard_->lease_ends(); }
  bool ended() const override { return failure_now().has_value(); }

  PostgresFigures figures() const override {
    return {groups_.load(),      transactions_.load(), bodies_run_.load(),   fetches_.load(), known_reads_.load(),
            asked_reads_.load(), settled_.load(),      commits_us_.counts(), kCommitBoundsUs};
  }

 private:
  struct Waiting {
    TransactionBody body;
    Completion done;
    std::size_t walk_rows = kFirstRows;
    int runs = 0;
  };
  struct Erasure {
    std::vector<KeyRange> ranges;
    Completion done;
    std::uint64_t after;                // the number of transactions that were submitted before
    std::size_t at = 0;                 // the ranges before this one are erased
    std::optional<KeyRange> left = {};  // the rest of this range, once it was begun
  };
  /// Transactions that are committed together.
  struct Group {
    std::vector<Waiting> members;
    std::vector<Result<void>> outcomes;  // of the first members; the other members are still to be run
    WriteOverlay writes;
  };

  static std::unexpected<Error> no_files() {
    return fail(ErrorCode::kNotImplemented,
                "The rows are in PostgreSQL: copy them with its own tools, such as pg_dump or pg_basebackup.");
  }

  [[nodiscard]] std::optional<Error> why_refused() const REQUIRES(mutex_) {
    if (failure_) return failure_;
    if (shard_->away()) return make_error(ErrorCode::kServerBusy, "The database of this store cannot be reached.");
    return refusal_;
  }

  /// Checks the ownership now and then, even if the writer is busy. Commits check it themselves.
  void look_now_and_then() {
    const auto now = std::chrono::steady_clock::now();
    if (now - looked_at_ < look_every_ || failure_now()) return;
    looked_at_ = now;
    if (options_.renewed_elsewhere && !shard_->away() && !shard_->due_for_renewal()) return;
    if (const auto seen = shard_->look(); !seen) end_if_lost(seen.error());
  }

  void work() {
    MutexLock lock(mutex_);
    for (;;) {
      const bool idle = queue_.empty() && erasures_.empty();
      if (idle && stopping_) return;
      if (idle && !known_.has_many_suggested()) changed_.wait_for(mutex_, look_every_);
      Group group;
      for (; !queue_.empty() && group.members.size() < kMaxTogether; queue_.pop_front()) {
        group.members.push_back(std::move(queue_.front()));
      }
      told_ += group.members.size();
      auto* const erasure = !erasures_.empty() && erasures_.front().after <= told_ ? &erasures_.front() : nullptr;
      lock.unlock();
      known_.take_suggested();
      carry_out(std::move(group));
      if (erasure != nullptr) erase_some(*erasure);
      look_now_and_then();
      lock.lock();
    }
  }

  /// Commits the group, in parts if it grows too large.
  void carry_out(Group group) {
    known_.keep_bound();
    while (!group.members.empty()) {
      auto failure = failure_now();
      if (!failure) failure = run_bodies(group);
      if (!failure) failure = commit(group.writes);
      if (failure) end(*failure);
      const auto done = failure ? group.members.size() : group.outcomes.size();
      // Outcomes may rest on writes of the same group, so a failure fails all of them, refusals included.
      if (failure) group.outcomes.assign(done, fail(*failure));
      tell(group, done);
      group.writes.clear();
    }
  }

  /// Runs bodies until each one in turn has found the rows that it read, and the group is complete or full.
  std::optional<Error> run_bodies(Group& group) {
    for (;;) {
      KnownRows::Missing missing;
      for (auto i = group.outcomes.size(); i < group.members.size(); ++i) {
        auto outcome = run_body(group.members[i], group.writes, missing);
        // Behind a body that must be run again, others run only to note their missing rows.
        const bool in_turn = i == group.outcomes.size();
        if (outcome && in_turn) group.outcomes.push_back(std::move(*outcome));
        if (outcome && !in_turn) group.writes.undo();
        if (group.writes.bytes() >= kMaxBytesTogether && group.outcomes.size() > i) return std::nullopt;
      }
      if (missing.empty()) return std::nullopt;
      ++fetches_;
      auto fetched = shard_->fetch(missing);
      if (!fetched) return std::move(fetched.error());
      known_.change([&](KnownRows& known) { fetched->learn(missing, known); });
    }
  }

  std::optional<Result<void>> run_body(Waiting& waiting, WriteOverlay& writes, KnownRows::Missing& missing) {
    ++bodies_run_;
    if (++waiting.runs > kMostRuns) {
      return fail(error_for_log(ErrorCode::kInternalError, "a transaction's body reads something new in each run"));
    }
    KnownTransaction txn(known_.rows(), writes, missing, waiting.walk_rows);
    Result<void> outcome;
    try {
      outcome = waiting.body(txn);
    } catch (const std::exception& e) {
      outcome = fail(error_for_log(ErrorCode::kInternalError, std::string("a transaction body threw: ") + e.what()));
    }
    auto finished = txn.finish(std::move(outcome));
    if (!finished) waiting.walk_rows = std::min(4 * waiting.walk_rows, kMostRows);
    return finished;
  }

  std::optional<Error> commit(const WriteOverlay& writes) {
    kCommitStep.before.reach();
    const auto begun = std::chrono::steady_clock::now();
    known_.begin_commit(writes);
    const bool changes = !writes.rows().empty();
    if (changes) reads_->committing();
    // Rows that bodies only read must have been true too: this shows a former owner that it is no longer the owner.
    auto committed = changes ? shard_->commit(writes) : shard_->check();
    kCommitStep.after.reach();
    const auto took = std::chrono::steady_clock::now() - begun;
    commits_us_.observe(
        static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(took).count()));
    settled_ = shard_->settled();
    known_.end_commit(committed.has_value());
    if (!committed) return std::move(committed.error());
    looked_at_ = std::chrono::steady_clock::now();
    ++groups_;
    changes ? reads_->committed(shard_->epoch()) : reads_->know(shard_->epoch());
    return std::nullopt;
  }

  /// Ends the engine's work: another process has the shard, or the state of the shard is unknown, or a store remembers
  /// results of bodies in a group that will never be committed.
  void end(const Error& why) {
    MutexLock lock(mutex_);
    if (!failure_) failure_ = shard_->fenced() ? why : error_for_log(ErrorCode::kStorageFailure, why.detail);
  }
  void end_if_lost(const Error& why) {
    if (shard_->fenced() || shard_->unknown()) end(why);
  }

  std::optional<Error> failure_now() const {
    MutexLock lock(mutex_);
    return failure_;
  }

  void tell(Group& group, std::size_t count) {
    std::vector<Completion::Due> told;
    told.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      auto& member = group.members[i];
      member.body = nullptr;  // destroy its captures before their owner is told
      told.push_back({std::move(member.done), std::move(group.outcomes[i])});
    }
    group.members.erase(group.members.begin(), group.members.begin() + static_cast<std::ptrdiff_t>(count));
    group.outcomes.clear();
    transactions_ += count;
    Completion::deliver(std::move(told));
  }

  /// Erases a part of the erasure that has waited longest; transactions go on between the parts.
  void erase_some(Erasure& erasure) {
    auto failure = failure_now();
    if (!failure && erasure.at < erasure.ranges.size()) {
      const auto& range = erasure.ranges[erasure.at];
      if (!erasure.left) erasure.left = range;
      kEraseStep.before.reach();
      reads_->committing();
      const auto more = shard_->erase_some(*erasure.left);
      kEraseStep.after.reach();
      if (!more) {
        failure = more.error();
        end_if_lost(*failure);
      } else if (!*more) {
        known_.change([&](KnownRows& known) { known.learn_erased(range); });
        erasure.left.reset();
        ++erasure.at;
      }
      reads_->committed(shard_->epoch());
    }
    if (!failure && erasure.at < erasure.ranges.size()) return;
    MutexLock lock(mutex_);
    auto done = std::move(erasures_.front().done);
    erasures_.pop_front();
    lock.unlock();
    done(failure ? Result<void>(fail(std::move(*failure))) : Result<void>());
  }

  const PostgresOptions options_;
  const std::chrono::milliseconds look_every_ = options_.lease.count() > 0 ? std::min(kBetweenLooks, options_.lease / 3)
                                                                           : kBetweenLooks;
  const std::shared_ptr<Reads> reads_;
  mutable Mutex mutex_;
  mutable std::condition_variable_any changed_;
  std::deque<Waiting> queue_ GUARDED_BY(mutex_);
  std::deque<Erasure> erasures_ GUARDED_BY(mutex_);  // only the writer removes them
  std::uint64_t submitted_ GUARDED_BY(mutex_) = 0;
  std::optional<Error> failure_ GUARDED_BY(mutex_);
  std::optional<Error> refusal_ GUARDED_BY(mutex_);
  bool stopping_ GUARDED_BY(mutex_) = false;
  mutable SharedKnownRows known_{options_.known_bytes};
  // These belong to the writer's thread, except for the shard's functions that any thread may call.
  std::optional<OwnedShard> shard_;
  std::uint64_t told_ = 0;  // transactions
  std::chrono::steady_clock::time_point looked_at_ = std::chrono::steady_clock::now();
  // For metrics.
  Histogram commits_us_{kCommitBoundsUs};
  std::atomic<std::uint64_t> groups_{0}, transactions_{0}, bodies_run_{0}, fetches_{0}, settled_{0};
  mutable std::atomic<std::uint64_t> known_reads_{0}, asked_reads_{0};
  std::thread writer_;
};

}  // namespace

Result<std::vector<std::optional<StoredSize>>> postgres_sizes(const PostgresOptions& options, std::size_t shards) {
  return detail::sizes_of(options, shards);
}

Result<std::optional<std::string>> postgres_stamp(const PostgresOptions& options) {
  return detail::find_stamp(options);
}

std::chrono::nanoseconds lease_clock() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

Result<std::unique_ptr<PostgresEngine>> claim_postgres(const PostgresOptions& options) {
  auto engine = std::make_unique<OwnerEngine>(options);
  TRY(engine->start());
  return engine;
}

Result<std::unique_ptr<PostgresEngine>> open_postgres(const PostgresOptions& options) {
  TRY(detail::prepare_tables(options));
  auto engine = std::make_unique<OwnerEngine>(options);
  TRY(engine->start());
  return engine;
}

}  // namespace tidemark::kv
