#include "common/kv/rocksdb_engine.h"

#include <rocksdb/utilities/write_batch_with_index.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "common/kv/rocksdb_database.h"

namespace tidemark::kv {
namespace {

using detail::Database;
using detail::error_of;
using detail::slice;
using detail::view;

// What one write to the log may hold: enough to share an fsync widely, little enough to keep it short.
constexpr std::size_t kMaxGroupTransactions = 512;
constexpr std::size_t kMaxGroupBytes = 8UL << 20;
// While a group is being written, so many that wait are worth waking the runner: a wakeup costs as much as a body.
constexpr std::size_t kWorthWaking = 16;
constexpr std::size_t kLongScanReadahead = 1UL << 20;

const FailStep kWriteStep("kv.write");               // a group, with its fsync
const FailPoint kFirstTold("kv.complete", "first");  // of a group whose other members have not heard yet
const FailStep kEraseRangeStep("kv.erase_range");

/// A range as read options; they hold pointers, so it stays where it is for as long as the iterator.
struct Bounds {
  Bounds(const KeyRange& wanted, const rocksdb::Snapshot* snapshot)
      : range(wanted), lower(slice(range.lower)), upper(slice(range.upper)) {
    options.snapshot = snapshot;
    if (!range.lower.empty()) options.iterate_lower_bound = &lower;
    if (!range.upper.empty()) options.iterate_upper_bound = &upper;
  }
  Bounds(const Bounds&) = delete;
  Bounds& operator=(const Bounds&) = delete;

  KeyRange range;
  rocksdb::Slice lower;
  rocksdb::Slice upper;
  rocksdb::ReadOptions options;
};

class RocksCursor final : public Cursor {
 public:
  /// `failure`, if given, is told when the walk fails.
  RocksCursor(Database db, std::unique_ptr<Bounds> bounds, std::unique_ptr<rocksdb::Iterator> it, Direction direction,
              std::optional<Error>* failure)
      : db_(std::move(db)), bounds_(std::move(bounds)), it_(std::move(it)), direction_(direction), failure_(failure) {
    const auto& range = bounds_->range;
    if (!range.upper.empty() && range.upper <= range.lower) {
      empty_ = true;
    } else if (direction_ == Direction::kForward) {
      it_->Seek(bounds_->lower);
    } else if (range.upper.empty()) {
      it_->SeekToLast();
    } else {
      it_->SeekForPrev(bounds_->upper);
      if (it_->Valid() && view(it_->key()) == range.upper) it_->Prev();
    }
    settle();
  }
  bool valid() const override { return valid_; }
  void next() override {
    if (direction_ == Direction::kForward) {
      it_->Next();
    } else {
      it_->Prev();
    }
    settle();
  }
  std::string_view key() const override { return view(it_->key()); }
  std::string_view value() const override { return view(it_->value()); }
  Result<void> status() const override {
    if (empty_ || it_->status().ok()) return {};
    return fail(error_of(it_->status()));
  }

 private:
  /// A transaction's own writes know no bounds, so they are checked here as well.
  void settle() {
    valid_ = !empty_ && it_->Valid();
    if (valid_) {
      const auto& range = bounds_->range;
      const auto at = view(it_->key());
      valid_ = direction_ == Direction::kForward ? range.upper.empty() || at < range.upper : at >= range.lower;
    } else if (!empty_ && failure_ != nullptr && !it_->status().ok()) {
      *failure_ = error_of(it_->status());
    }
  }

  Database db_;  // outlives the iterator
  std::unique_ptr<Bounds> bounds_;
  std::unique_ptr<rocksdb::Iterator> it_;
  Direction direction_;
  std::optional<Error>* failure_;
  bool empty_ = false;
  bool valid_ = false;
};

Result<std::optional<std::string>> read(rocksdb::DB& db, const rocksdb::ReadOptions& options, std::string_view key) {
  Result<std::optional<std::string>> value(std::in_place, std::in_place);
  const auto status = db.Get(options, slice(key), &**value);
  if (status.IsNotFound()) {
    value->reset();
  } else if (!status.ok()) {
    value = fail(error_of(status));
  }
  return value;
}

class RocksSnapshot final : public Reader {
 public:
  explicit RocksSnapshot(Database db) : db_(std::move(db)), snapshot_(db_->GetSnapshot()) {}
  RocksSnapshot(const RocksSnapshot&) = delete;
  RocksSnapshot& operator=(const RocksSnapshot&) = delete;
  ~RocksSnapshot() override { db_->ReleaseSnapshot(snapshot_); }

  Result<std::optional<std::string>> get(std::string_view key) const override {
    rocksdb::ReadOptions options;
    options.snapshot = snapshot_;
    return read(*db_, options, key);
  }

  /// The iterator pins what it reads, so the cursor may outlive the snapshot.
  std::unique_ptr<Cursor> scan(const KeyRange& range, Direction direction) const override {
    auto bounds = std::make_unique<Bounds>(range, snapshot_);
    std::unique_ptr<rocksdb::Iterator> it(db_->NewIterator(bounds->options));
    return std::make_unique<RocksCursor>(db_, std::move(bounds), std::move(it), direction, nullptr);
  }

  std::unique_ptr<Cursor> scan_long(const KeyRange& range) const override {
    auto bounds = std::make_unique<Bounds>(range, snapshot_);
    bounds->options.fill_cache = false;
    bounds->options.readahead_size = kLongScanReadahead;
    std::unique_ptr<rocksdb::Iterator> it(db_->NewIterator(bounds->options));
    return std::make_unique<RocksCursor>(db_, std::move(bounds), std::move(it), Direction::kForward, nullptr);
  }

 private:
  Database db_;
  const rocksdb::Snapshot* snapshot_;
};

using Batch = rocksdb::WriteBatchWithIndex;

/// What a batch says about a key: nothing; or its value, or that it is erased.
std::optional<std::optional<std::string>> find_in(Batch& batch, std::string_view key) {
  const std::unique_ptr<rocksdb::WBWIIterator> it(batch.NewIterator());
  it->Seek(slice(key));
  if (!it->Valid()) return std::nullopt;
  const auto entry = it->Entry();
  if (view(entry.key) != key) return std::nullopt;
  std::optional<std::string> value;
  if (entry.type == rocksdb::kPutRecord) value = entry.value.ToString();
  return value;
}

/// Rows written by put_often(), nothing for an erased one. They are few, so a walk is the quickest search.
class OftenRows {
 public:
  using Value = std::optional<std::string>;

  [[nodiscard]] const Value* find(std::string_view key) const {
    const auto row = std::find_if(rows_.begin(), rows_.end(), [key](const auto& each) { return each.first == key; });
    return row == rows_.end() ? nullptr : &row->second;
  }
  void set(std::string_view key, Value value) {
    const auto row = std::find_if(rows_.begin(), rows_.end(), [key](const auto& each) { return each.first == key; });
    if (row != rows_.end()) {
      row->second = std::move(value);
    } else {
      rows_.emplace_back(key, std::move(value));
    }
  }
  void move_into(OftenRows& other) {
    for (auto& [key, value] : rows_) other.set(key, std::move(value));
    rows_.clear();
  }
  rocksdb::Status write_to(Batch& batch) const {
    rocksdb::Status status;
    for (const auto& [key, value] : rows_) {
      if (status.ok()) status = value ? batch.Put(slice(key), slice(*value)) : batch.Delete(slice(key));
    }
    return status;
  }
  void clear() { rows_.clear(); }

 private:
  std::vector<std::pair<std::string, Value>> rows_;
};

/// One body's view: its group's batch, over the batch of the group that is being written, over the database. Whether
/// the database has that one already makes no difference.
class RocksTransaction final : public Transaction {
 public:
  RocksTransaction(const Database& db, Batch& batch, OftenRows& often, Batch* ahead)
      : db_(db), batch_(batch), often_(often), ahead_(ahead) {}

  Result<std::optional<std::string>> get(std::string_view key) const override {
    if (const auto* row = find_often(key)) return *row;
    if (auto written = find_in(batch_, key)) return std::move(*written);
    if (ahead_ != nullptr) {
      if (auto written = find_in(*ahead_, key)) return std::move(*written);
    }
    auto value = read(*db_, rocksdb::ReadOptions(), key);
    if (!value) failure_ = value.error();
    return value;
  }

  std::unique_ptr<Cursor> scan(const KeyRange& range, Direction direction) const override {
    // Here as in the log, the last value of a row is the one that counts: writing it early does no harm.
    note(often_.write_to(batch_));
    if (wrote_) note(own_often_.write_to(batch_));
    auto bounds = std::make_unique<Bounds>(range, nullptr);
    auto* const family = db_->DefaultColumnFamily();
    auto* it = db_->NewIterator(bounds->options);
    if (ahead_ != nullptr) it = ahead_->NewIteratorWithBase(family, it);
    std::unique_ptr<rocksdb::Iterator> all(batch_.NewIteratorWithBase(family, it));
    return std::make_unique<RocksCursor>(db_, std::move(bounds), std::move(all), direction, &failure_);
  }

  void put(std::string_view key, std::string_view value) override {
    if (find_often(key) != nullptr) return put_often(key, value);
    before_write();
    note(batch_.Put(slice(key), slice(value)));
  }

  void put_often(std::string_view key, std::string_view value) override {
    before_write();
    own_often_.set(key, std::string(value));
  }

  void erase(std::string_view key) override {
    before_write();
    if (find_often(key) != nullptr) return own_often_.set(key, std::nullopt);
    note(batch_.Delete(slice(key)));
  }

  /// Keeps or undoes the body's writes. A body that overlooked a failed read must not commit what it made of it.
  Result<void> finish(Result<void> outcome) {
    if (outcome && failure_) outcome = fail(std::move(*failure_));
    if (wrote_) {
      const auto status = outcome ? batch_.PopSavePoint() : batch_.RollbackToSavePoint();
      if (!status.ok()) return fail(error_of(status));
      if (outcome) own_often_.move_into(often_);
    }
    return outcome;
  }

 private:
  /// Most bodies that fail have written nothing, and rolling back rebuilds the index of the whole group.
  void before_write() {
    if (!wrote_) batch_.SetSavePoint();
    wrote_ = true;
  }
  void note(const rocksdb::Status& status) const {
    if (!status.ok()) failure_ = error_of(status);
  }
  const OftenRows::Value* find_often(std::string_view key) const {
    const auto* own = own_often_.find(key);
    return own != nullptr ? own : often_.find(key);
  }

  const Database& db_;
  Batch& batch_;
  OftenRows& often_;  // of the group; all that is in it is newer than the batch
  OftenRows own_often_;
  Batch* ahead_;
  bool wrote_ = false;
  mutable std::optional<Error> failure_;
};

class RocksEngine final : public Engine {
 public:
  RocksEngine(Database db, const RocksDbOptions& options)
      : db_(std::move(db)), max_queued_(options.max_queued_transactions) {
    write_options_.sync = options.durability == Durability::kFsync;
    runner_ = std::thread([this] { run_bodies(); });
    writer_ = std::thread([this] { write_groups(); });
  }
  RocksEngine(const RocksEngine&) = delete;
  RocksEngine& operator=(const RocksEngine&) = delete;
  ~RocksEngine() override {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_runner_.notify_one();
    runner_.join();
    writer_.join();
  }

  std::shared_ptr<const Reader> snapshot() const override { return std::make_shared<RocksSnapshot>(db_); }

  Result<std::optional<std::string>> get(std::string_view key) const override {
    return read(*db_, rocksdb::ReadOptions(), key);
  }

  void submit(TransactionBody body, Completion done) override {
    {
      std::unique_lock lock(mutex_);
      if (queue_.size() < max_queued_) {
        queue_.push_back({std::move(body), std::move(done)});
        const bool wake = writing_ == nullptr || queue_.size() == kWorthWaking;
        lock.unlock();
        if (wake) wake_runner_.notify_one();
        return;
      }
    }
    done(fail(ErrorCode::kServerBusy));  // on the caller's thread: the writer's is what is overloaded
  }

  Result<void> erase_range(const KeyRange& range) override {
    if (!range.upper.empty() && range.upper <= range.lower) return {};
    if (auto failure = failure_now()) return fail(std::move(*failure));
    rocksdb::WriteBatch batch;
    auto end = range.upper;
    if (end.empty()) {
      rocksdb::ReadOptions options;
      std::unique_ptr<rocksdb::Iterator> it(db_->NewIterator(options));
      it->SeekToLast();
      if (!it->status().ok()) return fail(error_of(it->status()));
      if (!it->Valid()) return {};
      end = it->key().ToString() + '\0';  // just after the last key
      if (end <= range.lower) return {};
    }
    auto status = batch.DeleteRange(slice(range.lower), slice(end));
    kEraseRangeStep.before.reach();
    if (status.ok()) status = db_->Write(write_options_, &batch);
    kEraseRangeStep.after.reach();
    if (status.ok()) return {};
    remember_failure(error_of(status));
    return fail(error_of(status));
  }

  std::size_t queue_depth() const override {
    std::lock_guard lock(mutex_);
    return queue_.size();
  }

 private:
  struct Waiting {
    TransactionBody body;
    Completion done;
  };

  /// Transactions that go to the log in one write.
  struct Group {
    Batch batch{rocksdb::BytewiseComparator(), 0, /*overwrite_key=*/true};
    OftenRows often;  // joins the batch when the last body has run
    rocksdb::Status joined;
    std::vector<Waiting> members;  // whose bodies have run
    std::vector<Result<void>> outcomes;

    [[nodiscard]] bool full() {
      return members.size() >= kMaxGroupTransactions || batch.GetWriteBatch()->GetDataSize() >= kMaxGroupBytes;
    }
  };

  // The runner. One body at a time, in order: that is what makes the transactions serializable. While a group is being
  // written it fills the next one, whose bodies see both; so the disk and the bodies do not wait for each other.
  void run_bodies() {
    std::array<Group, 2> groups;
    Group* filling = &groups[0];
    Group* ahead = nullptr;  // what `filling` was built on: being written, or written since
    std::deque<Waiting> taken;
    for (;;) {
      std::unique_lock lock(mutex_);
      auto can_run = [&] {
        const bool worth = !queue_.empty() && (writing_ == nullptr || queue_.size() >= kWorthWaking);
        return !filling->full() && (!taken.empty() || worth);
      };
      wake_runner_.wait(lock,
                        [&] { return can_run() || (writing_ == nullptr && (!filling->members.empty() || stopping_)); });
      if (writing_ == nullptr && ahead != nullptr) std::exchange(ahead, nullptr)->batch.Clear();
      if (can_run()) {
        if (taken.empty()) taken.swap(queue_);
        const bool failed = failure_.has_value();
        lock.unlock();
        for (; !taken.empty() && !filling->full(); taken.pop_front()) {
          filling->outcomes.push_back(failed ? Result<void>() : run(*filling, ahead, taken.front().body));
          filling->members.push_back(std::move(taken.front()));
        }
      } else if (!filling->members.empty()) {
        filling->joined = filling->often.write_to(filling->batch);
        filling->often.clear();
        writing_ = ahead = filling;
        filling = filling == &groups[0] ? &groups[1] : &groups[0];
        wake_writer_.notify_one();
      } else {
        runner_ended_ = true;
        wake_writer_.notify_one();
        return;
      }
    }
  }

  // The writer: one group at a time into the log, then its members are told.
  void write_groups() {
    for (;;) {
      std::unique_lock lock(mutex_);
      wake_writer_.wait(lock, [this] { return writing_ != nullptr || runner_ended_; });
      if (writing_ == nullptr) return;
      lock.unlock();
      const auto failure = write(*writing_);
      auto members = std::exchange(writing_->members, {});
      auto outcomes = std::exchange(writing_->outcomes, {});
      lock.lock();
      writing_ = nullptr;
      lock.unlock();
      wake_runner_.notify_one();
      // Outcomes may rest on writes of the same group, so a failed write fails all of them, refusals included.
      if (failure) outcomes.assign(members.size(), fail(*failure));
      tell(std::move(members), std::move(outcomes));
    }
  }

  std::optional<Error> write(Group& group) {
    auto failure = failure_now();
    auto* const batch = group.batch.GetWriteBatch();
    if (failure || batch->Count() == 0) return failure;
    kWriteStep.before.reach();
    const auto status = group.joined.ok() ? db_->Write(write_options_, batch) : group.joined;
    kWriteStep.after.reach();
    if (!status.ok()) failure = remember_failure(error_of(status));
    return failure;
  }

  static void tell(std::vector<Waiting> members, std::vector<Result<void>> outcomes) {
    for (std::size_t i = 0; i < members.size(); ++i) {
      auto item = std::move(members[i]);
      item.body = nullptr;  // let go of what it captured before its owner hears of the end
      item.done(std::move(outcomes[i]));
      kFirstTold.reach();
    }
  }

  Result<void> run(Group& group, Group* ahead, const TransactionBody& body) {
    RocksTransaction txn(db_, group.batch, group.often, ahead == nullptr ? nullptr : &ahead->batch);
    Result<void> outcome;
    try {
      outcome = body(txn);
    } catch (const std::exception& e) {
      auto error = make_error(ErrorCode::kInternalError);
      error.detail = std::string("a transaction body threw: ") + e.what();
      outcome = fail(std::move(error));
    }
    return txn.finish(std::move(outcome));
  }

  std::optional<Error> failure_now() const {
    std::lock_guard lock(mutex_);
    return failure_;
  }

  /// The first failure stays: after it nobody can tell what the disk holds until the database is opened again.
  Error remember_failure(Error error) {
    std::lock_guard lock(mutex_);
    error.code = ErrorCode::kStorageFailure;
    error.message = default_message_of(ErrorCode::kStorageFailure);
    if (!failure_) failure_ = std::move(error);
    return *failure_;
  }

  Database db_;
  rocksdb::WriteOptions write_options_;
  const std::size_t max_queued_;
  mutable std::mutex mutex_;
  std::condition_variable wake_runner_;
  std::condition_variable wake_writer_;
  std::deque<Waiting> queue_;
  std::optional<Error> failure_;
  Group* writing_ = nullptr;  // the writer's until it is null again, but for reading its batch
  bool stopping_ = false;
  bool runner_ended_ = false;
  std::thread runner_;
  std::thread writer_;
};

}  // namespace

Result<std::unique_ptr<Engine>> detail::open_rocksdb_on(const RocksDbOptions& options, rocksdb::Env* env) {
  auto db = open_database(options, env);
  if (!db) return fail(std::move(db.error()));
  return std::make_unique<RocksEngine>(std::move(*db), options);
}

Result<std::unique_ptr<Engine>> open_rocksdb(const RocksDbOptions& options) {
  return detail::open_rocksdb_on(options, nullptr);
}

}  // namespace tidemark::kv
