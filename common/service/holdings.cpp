#include "common/service/holdings.h"

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

}  // namespace

Result<Amounts> estimate(const kv::Engine& engine, const Holdings& holdings, const EstimateBytes& bytes,
                         const std::string& account) {
  Amounts amounts;
  if (bytes && !holdings.weigh) amounts.bytes = 0;
  const auto rows = engine.snapshot();
  TRY(holdings.each_unit(*rows, account, [&](std::span<const kv::KeyRange> ranges) -> Result<void> {
    ++amounts.units;
    for (const auto& range : ranges) {
      if (!amounts.bytes) break;
      const auto of_range = bytes(range);
      amounts.bytes = of_range ? std::optional(*amounts.bytes + *of_range) : std::nullopt;
    }
    return {};
  }));
  return amounts;
}

Result<Amounts> count(const kv::Engine& engine, const Holdings& holdings, const PaceCount& pace,
                      const std::string& account) {
  std::vector<kv::KeyRange> ranges;
  Amounts amounts{.units = 0, .bytes = 0};
  TRY(holdings.each_unit(*engine.snapshot(), account, [&](std::span<const kv::KeyRange> of_unit) -> Result<void> {
    ++amounts.units;
    ranges.insert(ranges.end(), of_unit.begin(), of_unit.end());
    return {};
  }));
  for (auto& range : ranges) {
    while (range.lower < range.upper) *amounts.bytes += TRY(count_piece(engine, holdings, pace, range));
  }
  return amounts;
}

}  // namespace tidemark::service
