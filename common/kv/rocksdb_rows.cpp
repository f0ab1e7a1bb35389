#include "common/kv/rocksdb_rows.h"

#include <algorithm>
#include <array>
#include <vector>

namespace tidemark::kv::detail {
namespace {

constexpr std::size_t kLongScanReadahead = 1UL << 20;
constexpr std::size_t kReadTogether = 32;  // the library splits larger numbers

class RocksCursor final : public Cursor {
 public:
  /// If `failure` is given, it gets the error of a failed walk.
  RocksCursor(Database db, const KeyRange& range, Direction direction, rocksdb::ReadOptions options,
              std::optional<Error>* failure = nullptr)
      : db_(std::move(db)),
        range_(range),
        lower_(slice(range_.lower)),
        upper_(slice(range_.upper)),
        direction_(direction),
        failure_(failure) {
    if (!range_.upper.empty() && range_.upper <= range_.lower) return;  // the range is empty
    if (!range_.lower.empty()) options.iterate_lower_bound = &lower_;
    if (!range_.upper.empty()) options.iterate_upper_bound = &upper_;
    it_.reset(db_->NewIterator(options));
    if (direction_ == Direction::kForward) {
      it_->Seek(lower_);
    } else if (range_.upper.empty()) {
      it_->SeekToLast();
    } else {
      it_->SeekForPrev(upper_);
      if (it_->Valid() && view(it_->key()) == range_.upper) it_->Prev();
    }
    settle();
  }
  RocksCursor(const RocksCursor&) = delete;
  RocksCursor& operator=(const RocksCursor&) = delete;

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
    if (!it_ || it_->status().ok()) return {};
    return fail(error_of(it_->status()));
  }

 private:
  void settle() {
    valid_ = it_->Valid();
    if (!valid_ && failure_ != nullptr && !it_->status().ok()) *failure_ = error_of(it_->status());
  }

  Database db_;  // outlives the iterator
  // The iterator points to the bounds.
  const KeyRange range_;
  const rocksdb::Slice lower_, upper_;
  std::unique_ptr<rocksdb::Iterator> it_;
  Direction direction_;
  std::optional<Error>* failure_;
  bool valid_ = false;
};

/// Returns the row at the moment `at`, and remembers it. `options` show the database at that moment, or now.
Result<std::optional<std::string>> find_row(const Stored& stored, const rocksdb::ReadOptions& options,
                                            RecentRows::Moment at, std::string_view key) {
  std::optional<std::string> value(std::in_place);
  const auto status = stored.db->Get(options, slice(key), &*value);
  if (!status.ok() && !status.IsNotFound()) return fail(error_of(status));
  if (!status.ok()) value.reset();
  stored.recent->remember(key, value, at);
  return value;
}

std::optional<std::string> copy_of(const RecentRows::Value& value) {
  return value ? std::optional(*value) : std::nullopt;
}

class RocksSnapshot final : public Reader {
 public:
  explicit RocksSnapshot(Stored stored) : stored_(std::move(stored)), snapshot_(stored_.db->GetSnapshot()) {}
  RocksSnapshot(const RocksSnapshot&) = delete;
  RocksSnapshot& operator=(const RocksSnapshot&) = delete;
  ~RocksSnapshot() override { stored_.db->ReleaseSnapshot(snapshot_); }

  Result<std::optional<std::string>> get(std::string_view key) const override {
    if (const auto recent = stored_.recent->find(key, at())) return copy_of(*recent);
    return find_row(stored_, options(), at(), key);
  }

  Result<void> get_all(std::span<const std::string> keys, const Told& told) const override {
    for (std::size_t first = 0; first < keys.size(); first += kReadTogether) {
      TRY(tell(keys.subspan(first, std::min(kReadTogether, keys.size() - first)), first, told));
    }
    return {};
  }

  /// The iterator pins the data that it reads, so the cursor may outlive the snapshot.
  std::unique_ptr<Cursor> scan(const KeyRange& range, Direction direction) const override {
    return std::make_unique<RocksCursor>(stored_.db, range, direction, options());
  }

  std::unique_ptr<Cursor> scan_long(const KeyRange& range) const override {
    auto reading = options();
    reading.fill_cache = false;
    reading.readahead_size = kLongScanReadahead;
    return std::make_unique<RocksCursor>(stored_.db, range, Direction::kForward, reading);
  }

 private:
  [[nodiscard]] RecentRows::Moment at() const { return snapshot_->GetSequenceNumber(); }
  [[nodiscard]] rocksdb::ReadOptions options() const {
    rocksdb::ReadOptions options;
    options.snapshot = snapshot_;
    return options;
  }

  /// Reads rows together; `first` is the number of the first row.
  Result<void> tell(std::span<const std::string> keys, std::size_t first, const Told& told) const {
    std::array<std::optional<RecentRows::Value>, kReadTogether> recent;
    std::array<rocksdb::Slice, kReadTogether> missing;
    std::size_t count = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      recent[i] = stored_.recent->find(keys[i], at());
      if (!recent[i]) missing[count++] = slice(keys[i]);
    }
    std::vector<rocksdb::PinnableSlice> values(count);
    std::vector<rocksdb::Status> statuses(count);
    auto& db = *stored_.db;
    if (count > 0) {
      db.MultiGet(options(), db.DefaultColumnFamily(), count, missing.data(), values.data(), statuses.data());
    }
    for (std::size_t i = 0, n = 0; i < keys.size(); ++i) {
      std::optional<std::string_view> value;
      if (recent[i]) {
        if (*recent[i]) value = **recent[i];
      } else {
        const auto& status = statuses[n];
        if (!status.ok() && !status.IsNotFound()) return fail(error_of(status));
        if (status.ok()) value = view(values[n]);
        stored_.recent->remember(keys[i], value, at());
        ++n;
      }
      TRY(told(first + i, value));
    }
    return {};
  }

  Stored stored_;
  const rocksdb::Snapshot* snapshot_;
};

}  // namespace

Result<std::optional<std::string>> read_row(const Stored& stored, std::string_view key) {
  const auto now = stored.now();
  if (const auto recent = stored.recent->find(key, now)) return copy_of(*recent);
  return find_row(stored, rocksdb::ReadOptions(), now, key);
}

std::shared_ptr<const Reader> snapshot_of(Stored stored) { return std::make_shared<RocksSnapshot>(std::move(stored)); }

GroupTransaction::GroupTransaction(const Stored& stored, WriteOverlay& writes, const WriteOverlay* ahead)
    : stored_(stored), writes_(writes), ahead_(ahead) {
  writes_.begin();
}

Result<std::optional<std::string>> GroupTransaction::get(std::string_view key) const {
  if (const auto* written = writes_.find(key)) return *written;
  if (ahead_ != nullptr) {
    if (const auto* written = ahead_->find(key)) return *written;
  }
  // Rows that are being written never get here.
  auto value = read_row(stored_, key);
  if (!value) failure_ = value.error();
  return value;
}

std::unique_ptr<Cursor> GroupTransaction::scan(const KeyRange& range, Direction direction) const {
  auto stored = std::make_unique<RocksCursor>(stored_.db, range, direction, rocksdb::ReadOptions(), &failure_);
  return overlaid({&writes_, ahead_}, std::move(stored), range, direction);
}

Result<void> GroupTransaction::finish(Result<void> outcome) {
  if (outcome && failure_) outcome = fail(std::move(*failure_));
  if (!outcome) writes_.undo();
  return outcome;
}

}  // namespace tidemark::kv::detail
