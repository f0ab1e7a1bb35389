#include "table_store/storage/table_views.h"

#include "table_store/storage/table_keys.h"
#include "table_store/storage/table_rows.h"

namespace tidemark::table_store {
namespace {

class MergedCursor final : public kv::Cursor {
 public:
  explicit MergedCursor(shards::MergedScan scan) : scan_(std::move(scan)) {}
  [[nodiscard]] bool valid() const override { return scan_.valid(); }
  void next() override { scan_.next(); }
  [[nodiscard]] std::string_view key() const override { return scan_.key(); }
  [[nodiscard]] std::string_view value() const override { return scan_.value(); }
  [[nodiscard]] Result<void> status() const override { return scan_.status(); }

 private:
  shards::MergedScan scan_;
};

/// The entities of one table, read forward.
class PlacedEntities final : public kv::Reader {
 public:
  PlacedEntities(const TableViews& views, const TableShards& shards, std::string_view account, std::string_view table)
      : views_(views), shards_(shards), account_(account), table_(table) {}

  [[nodiscard]] Result<std::optional<std::string>> get(std::string_view key) const override {
    EntityKeyReader keys;
    if (!keys.read(key)) return fail(ErrorCode::kCorruption);
    return shard_of(keys.partition_key).get(key);
  }
  [[nodiscard]] std::unique_ptr<kv::Cursor> scan(const kv::KeyRange& range, kv::Direction direction) const override {
    if (const auto partition = partition_in(range)) return shard_of(*partition).scan(range, direction);
    return std::make_unique<MergedCursor>(shards::MergedScan(all(), range));
  }
  [[nodiscard]] std::unique_ptr<kv::Cursor> scan_long(const kv::KeyRange& range) const override {
    if (const auto partition = partition_in(range)) return shard_of(*partition).scan_long(range);
    return std::make_unique<MergedCursor>(shards::MergedScan(all(), range, shards::MergedScan::Length::kLong));
  }

 private:
  [[nodiscard]] const kv::Reader& shard_of(std::string_view partition_key) const {
    return views_.of(shards_.of(account_, table_, partition_key).number);
  }
  [[nodiscard]] std::vector<const kv::Reader*> all() const {
    std::vector<const kv::Reader*> readers;
    for (std::size_t shard = 0; shard < shards_.size(); ++shard) readers.push_back(&views_.of(shard));
    return readers;
  }
  /// Returns the one partition that the range has keys of; nothing: there may be several.
  static std::optional<std::string> partition_in(const kv::KeyRange& range) {
    if (range.lower.size() < kEntityPrefixBytes) return std::nullopt;
    auto rest = std::string_view(range.lower).substr(kEntityPrefixBytes);
    auto partition = kv::take_utf16(rest);
    if (!partition || range.upper.empty()) return std::nullopt;
    const auto end = kv::prefix_end(std::string_view(range.lower).substr(0, range.lower.size() - rest.size()));
    if (range.upper > end) return std::nullopt;
    return partition;
  }

  const TableViews& views_;
  const TableShards& shards_;
  const std::string account_, table_;
};

}  // namespace

TableViews::TableViews(const TableShards& shards) : shards_(shards), taken_(shards.size()), versions_(shards.size()) {}

const kv::Reader& TableViews::of(std::size_t shard) const {
  auto& taken = taken_[shard];
  if (!taken) taken = shards_[shard].engine.snapshot();
  return *taken;
}

Result<TableViews::Entities> TableViews::entities(std::string_view account, std::string_view table) const {
  if (!shards_.divided()) return Entities{TRY(find_generation(catalogue(), account, table)), taken_.front()};
  return Entities{TRY(shards_.find_generation(account, table)),
                  std::make_shared<PlacedEntities>(*this, shards_, account, table)};
}

Result<void> TableViews::check_still_there(std::string_view account, std::string_view table,
                                           std::uint64_t generation) const {
  if (!shards_.divided()) return {};
  if (TRY(shards_.find_generation(account, table)) != generation) return fail(ErrorCode::kTableNotFound);
  return {};
}

Result<Version> TableViews::as_of(std::size_t shard) const {
  auto& version = versions_[shard];
  if (!version) version = static_cast<Version>(TRY(read_counter(of(shard), kLastVersionKey)));
  return *version;
}

}  // namespace tidemark::table_store
