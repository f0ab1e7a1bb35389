#include "common/service/holdings.h"

#include <algorithm>
#include <vector>

namespace tidemark::service {
namespace {

constexpr std::uint64_t kPaceBytes = 256UL << 10;
/// Limits a snapshot, which keeps rows that are deleted meanwhile from being removed.
constexpr std::uint64_t kBytesOfSnapshot = 64UL << 20;

/// Counts up to kBytesOfSnapshot bytes of a range in a snapshot of its own. Leaves the uncounted rest in `range`.
Result<std::uint64_t> count_piece(const kv::Engine& engine, const Holdings& holdings, const PaceCount& pace,
                                  kv::KeyRange& range) {
  const auto rows = engine.snapshot();
  const auto cursor = rows->scan_long(range);
  std::uint64_t bytes = 0, read = 0, unpaced = 0;
  for (; cursor->valid() && read < kBytesOfSnapshot; cursor->next()) {
    const auto own = cursor->key().size() + cursor->value().size();
    bytes += holdings.weigh ? holdings.weigh(*rows, cursor->key(), cursor->value()) : own;
    read += own;
    unpaced += own;
    if (unpaced >= kPaceBytes && !pace(std::exchange(unpaced, 0))) return fail(ErrorCode::kCancelled);
  }
  TRY(cursor->status());
  range.lower = cursor->valid() ? std::string(cursor->key()) : range.upper;
  return bytes;
}

/// Calls `each` with the rows of each unit and the shards that may have some.
using EachPlace = std::function<Result<void>(std::span<const MeasuredShard>, std::span<const kv::KeyRange>)>;
Result<void> each_unit(std::span<const MeasuredShard> shards, const Holdings& holdings, const std::string& account,
                       const EachPlace& each) {
  const auto naming = holdings.divided ? shards.first(1) : shards;
  for (std::size_t i = 0; i < naming.size(); ++i) {
    const auto having = holdings.divided ? shards : shards.subspan(i, 1);
    const auto rows = shards[i].engine.snapshot();
    TRY(holdings.each_unit(*rows, account, [&](std::span<const kv::KeyRange> ranges) { return each(having, ranges); }));
  }
  return {};
}

}  // namespace

Result<Amounts> estimate(std::span<const MeasuredShard> shards, const Holdings& holdings, const std::string& account) {
  Amounts amounts;
  if (!holdings.weigh && std::ranges::all_of(shards, [](const auto& shard) { return bool(shard.estimate); })) {
    amounts.bytes = 0;
  }
  TRY(each_unit(shards, holdings, account, [&](auto having, auto ranges) -> Result<void> {
    ++amounts.units;
    for (const auto& shard : having) {
      for (const auto& range : ranges) {
        if (!amounts.bytes) break;
        const auto of_range = shard.estimate(range);
        amounts.bytes = of_range ? std::optional(*amounts.bytes + *of_range) : std::nullopt;
      }
    }
    return {};
  }));
  return amounts;
}

Result<Amounts> count(std::span<const MeasuredShard> shards, const Holdings& holdings, const PaceCount& pace,
                      const std::string& account) {
  Amounts amounts{.units = 0, .bytes = 0};
  std::vector<std::pair<std::span<const MeasuredShard>, kv::KeyRange>> places;
  TRY(each_unit(shards, holdings, account, [&](auto having, auto ranges) -> Result<void> {
    ++amounts.units;
    for (const auto& range : ranges) places.emplace_back(having, range);
    return {};
  }));
  for (const auto& [having, range] : places) {
    for (const auto& shard : having) {
      for (auto left = range; left.lower < left.upper;) {
        *amounts.bytes += TRY(count_piece(shard.engine, holdings, pace, left));
      }
    }
  }
  return amounts;
}

}  // namespace tidemark::service
