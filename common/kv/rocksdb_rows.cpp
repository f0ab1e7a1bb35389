#include "common/kv/rocksdb_rows.h"

#include <algorithm>
#include <array>

namespace tidemark::kv::detail {
namespace {

constexpr std::size_t kMaxMemoBytes = 256;  // of a row
constexpr std::size_t kMaxMemoRows = 1024;
constexpr std::size_t kLongScanReadahead = 1UL << 20;
constexpr std::size_t kReadTogether = 32;  // the library divides what is more

class RocksCursor final : public Cursor {
 public:
  /// `failure`, if given, is told when the walk fails.
  RocksCursor(Database db, const KeyRange& range, Direction direction, rocksdb::ReadOptions options,
              std::optional<Error>* failure = nullptr)
      : db_(std::move(db)),
        range_(range),
        lower_(slice(range_.lower)),
        upper_(slice(range_.upper)),
        direction_(direction),
        failure_(failure) {
    if (!range_.upper.empty() && range_.upper <= range_.lower) return;  // nothing is in it
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

class RocksSnapshot final : public Reader {
 public:
  explicit RocksSnapshot(Database db) : db_(std::move(db)), snapshot_(db_->GetSnapshot()) {}
  RocksSnapshot(const RocksSnapshot&) = delete;
  RocksSnapshot& operator=(const RocksSnapshot&) = delete;
  ~RocksSnapshot() override { db_->ReleaseSnapshot(snapshot_); }

  Result<std::optional<std::string>> get(std::string_view key) const override { return read_row(db_, options(), key); }

  Result<void> get_all(std::span<const std::string> keys, const Told& told) const override {
    return read_rows(db_, options(), keys, told);
  }

  /// The iterator pins what it reads, so the cursor may outlive the snapshot.
  std::unique_ptr<Cursor> scan(const KeyRange& range, Direction direction) const override {
    return std::make_unique<RocksCursor>(db_, range, direction, options());
  }

  std::unique_ptr<Cursor> scan_long(const KeyRange& range) const override {
    auto reading = options();
    reading.fill_cache = false;
    reading.readahead_size = kLongScanReadahead;
    return std::make_unique<RocksCursor>(db_, range, Direction::kForward, reading);
  }

 private:
  [[nodiscard]] rocksdb::ReadOptions options() const {
    rocksdb::ReadOptions options;
    options.snapshot = snapshot_;
    return options;
  }

  Database db_;
  const rocksdb::Snapshot* snapshot_;
};

}  // namespace

Result<std::optional<std::string>> read_row(const Database& db, const rocksdb::ReadOptions& options,
                                            std::string_view key) {
  Result<std::optional<std::string>> value(std::in_place, std::in_place);
  const auto status = db->Get(options, slice(key), &**value);
  if (status.IsNotFound()) {
    value->reset();
  } else if (!status.ok()) {
    value = fail(error_of(status));
  }
  return value;
}

Result<void> read_rows(const Database& db, const rocksdb::ReadOptions& options, std::span<const std::string> keys,
                       const Reader::Told& told) {
  std::array<rocksdb::Slice, kReadTogether> slices;
  std::array<rocksdb::PinnableSlice, kReadTogether> values;
  std::array<rocksdb::Status, kReadTogether> statuses;
  for (std::size_t first = 0; first < keys.size(); first += kReadTogether) {
    const auto count = std::min(kReadTogether, keys.size() - first);
    for (std::size_t i = 0; i < count; ++i) slices[i] = slice(keys[first + i]);
    db->MultiGet(options, db->DefaultColumnFamily(), count, slices.data(), values.data(), statuses.data());
    for (std::size_t i = 0; i < count; ++i) {
      const auto& status = statuses[i];
      if (!status.ok() && !status.IsNotFound()) return fail(error_of(status));
      TRY(told(first + i, status.ok() ? std::optional(view(values[i])) : std::nullopt));
      values[i].Reset();
    }
  }
  return {};
}

std::shared_ptr<const Reader> snapshot_of(Database db) { return std::make_shared<RocksSnapshot>(std::move(db)); }

GroupTransaction::GroupTransaction(const Database& db, WriteOverlay& writes, const WriteOverlay* ahead, Memo& memo)
    : db_(db), writes_(writes), ahead_(ahead), memo_(memo) {
  writes_.begin();
}

Result<std::optional<std::string>> GroupTransaction::get(std::string_view key) const {
  if (const auto* written = writes_.find(key)) return *written;
  if (ahead_ != nullptr) {
    if (const auto* written = ahead_->find(key)) return *written;
  }
  if (const auto known = memo_.find(key); known != memo_.end()) return known->second;
  auto value = read_row(db_, rocksdb::ReadOptions(), key);
  if (!value) {
    failure_ = value.error();
  } else if (memo_.size() < kMaxMemoRows && (!*value || (*value)->size() <= kMaxMemoBytes)) {
    memo_.emplace(key, *value);
  }
  return value;
}

std::unique_ptr<Cursor> GroupTransaction::scan(const KeyRange& range, Direction direction) const {
  auto stored = std::make_unique<RocksCursor>(db_, range, direction, rocksdb::ReadOptions(), &failure_);
  return overlaid({&writes_, ahead_}, std::move(stored), range, direction);
}

Result<void> GroupTransaction::finish(Result<void> outcome) {
  if (outcome && failure_) outcome = fail(std::move(*failure_));
  if (!outcome) writes_.undo();
  return outcome;
}

}  // namespace tidemark::kv::detail
