#include "common/service/holdings.h"

#include <algorithm>
#include <vector>

namespace tidemark::service {
namespace {

constexpr std::uint64_t kPaceBytes = 256UL << 10;
/// A snapshot keeps what is deleted meanwhile from being removed.
constexpr std::uint64_t kBytesOfSnapshot = 64UL << 20;

/// Up to so many bytes of a range, of a snapshot of its own. Afterwards the range is what is left of it.
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

/// Of one shard, in addition to what was counted before.
Result<void> add_estimate(const MeasuredShard& shard, const Holdings& holdings, const std::string& account,
                          Amounts& amounts) {
  const auto rows = shard.engine.snapshot();
  return holdings.each_unit(*rows, account, [&](std::span<const kv::KeyRange> ranges) -> Result<void> {
    ++amounts.units;
    for (const auto& range : ranges) {
      if (!amounts.bytes) break;
      const auto of_range = shard.estimate(range);
      amounts.bytes = of_range ? std::optional(*amounts.bytes + *of_range) : std::nullopt;
    }
    return {};
  });
}

}  // namespace

Result<Amounts> estimate(std::span<const MeasuredShard> shards, const Holdings& holdings, const std::string& account) {
  Amounts amounts;
  if (!holdings.weigh && std::ranges::all_of(shards, [](const auto& shard) { return bool(shard.estimate); })) {
    amounts.bytes = 0;
  }
  for (const auto& shard : shards) TRY(add_estimate(shard, holdings, account, amounts));
  return amounts;
}

Result<Amounts> count(std::span<const MeasuredShard> shards, const Holdings& holdings, const PaceCount& pace,
                      const std::string& account) {
  Amounts amounts{.units = 0, .bytes = 0};
  for (const auto& shard : shards) {
    std::vector<kv::KeyRange> ranges;
    TRY(holdings.each_unit(*shard.engine.snapshot(), account,
                           [&](std::span<const kv::KeyRange> of_unit) -> Result<void> {
                             ++amounts.units;
                             ranges.insert(ranges.end(), of_unit.begin(), of_unit.end());
                             return {};
                           }));
    for (auto& range : ranges) {
      while (range.lower < range.upper) *amounts.bytes += TRY(count_piece(shard.engine, holdings, pace, range));
    }
  }
  return amounts;
}

}  // namespace tidemark::service
