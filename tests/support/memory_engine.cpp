#include "tests/support/memory_engine.h"

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <exception>
#include <map>
#include <set>
#include <vector>

#include "common/base/mutex.h"
#include "tests/support/repeating_engine.h"
#include "tests/support/waiting_engine.h"

namespace tidemark::kv {

/// Every key with its recent versions, so that a snapshot is only a number. Later commits drop versions that no
/// snapshot can see any more. Thread safe.
class MemoryDisk {
 public:
  using Value = std::optional<std::string>;  // nothing: erased
  using Changes = std::map<std::string, Value, std::less<>>;
  using Version = std::uint64_t;

  /// Held while a transaction runs; taken before mutex_.
  Mutex& writer() { return writer_; }
  /// The schema that has its rows, in a cluster that the tests of several processes share.
  [[nodiscard]] const std::string& schema() const { return schema_; }

  Version open_snapshot() {
    MutexLock lock(mutex_);
    snapshots_.insert(current_);
    return current_;
  }

  void close_snapshot(Version version) {
    MutexLock lock(mutex_);
    snapshots_.erase(snapshots_.find(version));
  }

  Value get(std::string_view key, Version version) const {
    MutexLock lock(mutex_);
    auto found = keys_.find(key);
    if (found == keys_.end()) return std::nullopt;
    const auto* stored = visible(found->second, version);
    return stored == nullptr ? std::nullopt : stored->value;
  }

  /// Returns the first key at or after `from` and before `upper`.
  std::optional<std::pair<std::string, std::string>> first_from(std::string_view from, bool inclusive,
                                                                std::string_view upper, Version version) const {
    MutexLock lock(mutex_);
    auto it = inclusive ? keys_.lower_bound(from) : keys_.upper_bound(from);
    for (; it != keys_.end() && (upper.empty() || it->first < upper); ++it) {
      const auto* stored = visible(it->second, version);
      if (stored != nullptr && stored->value) return std::pair(it->first, *stored->value);
    }
    return std::nullopt;
  }

  /// Returns the last key before `upper` (empty: the end) that is not before `lower`.
  std::optional<std::pair<std::string, std::string>> last_before(std::string_view upper, std::string_view lower,
                                                                 Version version) const {
    MutexLock lock(mutex_);
    auto it = upper.empty() ? keys_.end() : keys_.lower_bound(upper);
    while (it != keys_.begin()) {
      --it;
      if (it->first < lower) break;
      const auto* stored = visible(it->second, version);
      if (stored != nullptr && stored->value) return std::pair(it->first, *stored->value);
    }
    return std::nullopt;
  }

  void commit(Changes changes) {
    MutexLock lock(mutex_);
    const auto version = ++current_;
    for (auto& [key, value] : changes) {
      keys_[key].push_back({version, std::move(value)});
      superseded_.emplace_back(version, key);
    }
    drop_unseen();
  }

 private:
  struct Stored {
    Version version;
    Value value;
  };
  using History = std::vector<Stored>;  // oldest first

  static const Stored* visible(const History& history, Version version) {
    for (auto it = history.rbegin(); it != history.rend(); ++it) {
      if (it->version <= version) return &*it;
    }
    return nullptr;
  }

  void drop_unseen() REQUIRES(mutex_) {
    const auto oldest = snapshots_.empty() ? current_ : *snapshots_.begin();
    for (; !superseded_.empty() && superseded_.front().first <= oldest; superseded_.pop_front()) {
      auto found = keys_.find(superseded_.front().second);
      if (found == keys_.end()) continue;
      auto& history = found->second;
      auto keep = history.begin();
      while (keep + 1 != history.end() && (keep + 1)->version <= oldest) ++keep;
      history.erase(history.begin(), keep);
      if (history.size() == 1 && !history.front().value && history.front().version <= oldest) keys_.erase(found);
    }
  }

  static std::string new_schema() {
    static std::atomic<int> made{0};
    return "disk_" + std::to_string(::getpid()) + "_" + std::to_string(++made);
  }

  const std::string schema_ = new_schema();
  Mutex writer_;
  mutable Mutex mutex_;
  std::map<std::string, History, std::less<>> keys_ GUARDED_BY(mutex_);
  std::multiset<Version> snapshots_ GUARDED_BY(mutex_);
  // Keys to clean up once no older snapshot is left.
  std::deque<std::pair<Version, std::string>> superseded_ GUARDED_BY(mutex_);
  Version current_ GUARDED_BY(mutex_) = 0;
};

namespace {

class OpenSnapshot {
 public:
  explicit OpenSnapshot(std::shared_ptr<MemoryDisk> disk) : disk_(std::move(disk)), version_(disk_->open_snapshot()) {}
  OpenSnapshot(const OpenSnapshot&) = delete;
  OpenSnapshot& operator=(const OpenSnapshot&) = delete;
  ~OpenSnapshot() { disk_->close_snapshot(version_); }
  [[nodiscard]] const MemoryDisk& disk() const { return *disk_; }
  [[nodiscard]] MemoryDisk::Version version() const { return version_; }

 private:
  std::shared_ptr<MemoryDisk> disk_;
  MemoryDisk::Version version_;
};

class SnapshotCursor final : public Cursor {
 public:
  SnapshotCursor(std::shared_ptr<const OpenSnapshot> snapshot, KeyRange range, Direction direction)
      : snapshot_(std::move(snapshot)), range_(std::move(range)), direction_(direction) {
    const auto& disk = snapshot_->disk();
    entry_ = direction_ == Direction::kForward ? disk.first_from(range_.lower, true, range_.upper, snapshot_->version())
                                               : disk.last_before(range_.upper, range_.lower, snapshot_->version());
  }
  bool valid() const override { return entry_.has_value(); }
  void next() override {
    const auto& disk = snapshot_->disk();
    // Nothing sorts before the empty key, and an empty upper bound would mean "the end".
    if (direction_ == Direction::kReverse && entry_->first.empty()) {
      entry_.reset();
      return;
    }
    entry_ = direction_ == Direction::kForward
                 ? disk.first_from(entry_->first, false, range_.upper, snapshot_->version())
                 : disk.last_before(entry_->first, range_.lower, snapshot_->version());
  }
  std::string_view key() const override { return entry_->first; }
  std::string_view value() const override { return entry_->second; }
  Result<void> status() const override { return {}; }

 private:
  std::shared_ptr<const OpenSnapshot> snapshot_;
  KeyRange range_;
  Direction direction_;
  std::optional<std::pair<std::string, std::string>> entry_;
};

class SnapshotReader final : public Reader {
 public:
  explicit SnapshotReader(std::shared_ptr<MemoryDisk> disk)
      : snapshot_(std::make_shared<OpenSnapshot>(std::move(disk))) {}
  Result<std::optional<std::string>> get(std::string_view key) const override {
    return snapshot_->disk().get(key, snapshot_->version());
  }
  std::unique_ptr<Cursor> scan(const KeyRange& range, Direction direction) const override {
    return std::make_unique<SnapshotCursor>(snapshot_, range, direction);
  }

 private:
  std::shared_ptr<const OpenSnapshot> snapshot_;
};

/// Walks over the committed entries with the transaction's own changes laid over them.
class OverlayCursor final : public Cursor {
 public:
  using Changes = MemoryDisk::Changes;
  OverlayCursor(std::unique_ptr<Cursor> base, const Changes& changes, const KeyRange& range, Direction direction)
      : base_(std::move(base)), forward_(direction == Direction::kForward) {
    first_ = changes.lower_bound(range.lower);
    last_ = range.upper.empty() ? changes.end() : changes.lower_bound(range.upper);
    if (!range.upper.empty() && range.upper <= range.lower) last_ = first_;
    settle();
  }
  bool valid() const override { return base_->valid() || change_ != nullptr; }
  void next() override {
    if (on_change_) {
      skip_change();
    } else {
      base_->next();
    }
    settle();
  }
  std::string_view key() const override { return on_change_ ? std::string_view(change_->first) : base_->key(); }
  std::string_view value() const override { return on_change_ ? std::string_view(*change_->second) : base_->value(); }
  Result<void> status() const override { return base_->status(); }

 private:
  void skip_change() {
    if (forward_) {
      ++first_;
    } else {
      --last_;
    }
  }

  /// Moves to the nearer of the two sides; a change hides the base's entry of the same key.
  void settle() {
    for (;;) {
      change_ = first_ == last_ ? nullptr : forward_ ? &*first_ : &*std::prev(last_);
      on_change_ = false;
      if (change_ == nullptr) return;
      if (base_->valid()) {
        const auto order = base_->key().compare(change_->first);
        if (forward_ ? order < 0 : order > 0) return;
        if (order == 0) base_->next();
      }
      on_change_ = true;
      if (change_->second) return;
      skip_change();
    }
  }

  std::unique_ptr<Cursor> base_;
  bool forward_;
  bool on_change_ = false;
  Changes::const_iterator first_;
  Changes::const_iterator last_;
  const Changes::value_type* change_ = nullptr;
};

class MemoryTransaction final : public Transaction {
 public:
  explicit MemoryTransaction(std::shared_ptr<MemoryDisk> disk) : base_(std::move(disk)) {}
  Result<std::optional<std::string>> get(std::string_view key) const override {
    if (auto found = changes_.find(key); found != changes_.end()) return found->second;
    return base_.get(key);
  }
  std::unique_ptr<Cursor> scan(const KeyRange& range, Direction direction) const override {
    return std::make_unique<OverlayCursor>(base_.scan(range, direction), changes_, range, direction);
  }
  void put(std::string_view key, std::string_view value) override {
    changes_.insert_or_assign(std::string(key), std::string(value));
  }
  void erase(std::string_view key) override { changes_.insert_or_assign(std::string(key), std::nullopt); }
  MemoryDisk::Changes take_changes() { return std::move(changes_); }

 private:
  SnapshotReader base_;
  MemoryDisk::Changes changes_;
};

class MemoryEngine final : public Engine {
 public:
  explicit MemoryEngine(std::shared_ptr<MemoryDisk> disk) : disk_(std::move(disk)) {}

  std::shared_ptr<const Reader> snapshot() const override { return std::make_shared<SnapshotReader>(disk_); }

  void submit(TransactionBody body, Completion done) override {
    auto outcome = run(body);
    body = nullptr;
    done(std::move(outcome));  // without the lock: it may submit the next transaction
  }

  void erase_ranges(std::vector<KeyRange> ranges, Completion done) override {
    TransactionBody body = [&ranges](Transaction& txn) -> Result<void> {
      std::vector<std::string> keys;
      for (const auto& range : ranges) {
        for (auto cursor = txn.scan(range); cursor->valid(); cursor->next()) keys.emplace_back(cursor->key());
      }
      for (const auto& key : keys) txn.erase(key);
      return {};
    };
    done(run(body));
  }

  std::size_t queue_depth() const override { return 0; }

 private:
  Result<void> run(const TransactionBody& body) {
    MutexLock lock(disk_->writer());
    MemoryDisk::Changes changes;
    {
      MemoryTransaction txn(disk_);
      try {
        TRY(body(txn));
      } catch (const std::exception& e) {
        auto error = make_error(ErrorCode::kInternalError);
        error.detail = std::string("a transaction body threw: ") + e.what();
        return fail(std::move(error));
      }
      changes = txn.take_changes();
    }
    if (!changes.empty()) disk_->commit(std::move(changes));
    return {};
  }

  std::shared_ptr<MemoryDisk> disk_;
};

}  // namespace

std::shared_ptr<MemoryDisk> make_memory_disk() { return std::make_shared<MemoryDisk>(); }

std::unique_ptr<Engine> make_memory_engine(std::shared_ptr<MemoryDisk> disk) {
  if (const auto* cluster = std::getenv("TIDEMARK_TEST_POSTGRES")) {
    return open_waiting_postgres(cluster, disk->schema());  // which runs bodies again by itself
  }
  return repeat_bodies(std::make_unique<MemoryEngine>(std::move(disk)));
}

}  // namespace tidemark::kv
