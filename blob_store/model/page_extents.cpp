#include "blob_store/model/page_extents.h"

#include <algorithm>
#include <limits>

namespace tidemark::blob_store {
namespace {

constexpr std::uint64_t kNowhere = std::numeric_limits<std::uint64_t>::max();

/// Returns the part of the extent in [start, end), which must not be empty.
Extent part_of(const Extent& extent, std::uint64_t start, std::uint64_t end) {
  auto part = extent;
  part.start = std::max(start, extent.start);
  part.from = extent.from + (part.start - extent.start);
  part.size = std::min(end, end_of(extent)) - part.start;
  return part;
}

bool overlap(const Extent& extent, const ByteRange& range) {
  return extent.start < end_of(range) && end_of(extent) > range.offset;
}

bool touch(const Extent& first, const Extent& second) { return end_of(first) == second.start; }

/// Walks over extents from one place to the next where an extent begins or ends.
class Walk {
 public:
  explicit Walk(const std::vector<Extent>& extents) : next_(extents.begin()), end_(extents.end()) {}
  void go_to(std::uint64_t place) {
    place_ = place;
    while (next_ != end_ && end_of(*next_) <= place) ++next_;
  }
  /// Returns the extent at this place; null in a hole.
  [[nodiscard]] const Extent* here() const { return next_ != end_ && next_->start <= place_ ? &*next_ : nullptr; }
  [[nodiscard]] std::uint64_t until() const {
    if (next_ == end_) return kNowhere;
    return here() != nullptr ? end_of(*next_) : next_->start;
  }

 private:
  std::vector<Extent>::const_iterator next_, end_;
  std::uint64_t place_ = 0;
};

bool same_bytes(const Extent& one, const Extent& other) {
  return one.payload == other.payload && one.from - one.start == other.from - other.start;
}

}  // namespace

std::vector<Extent> outside(const Extent& extent, const ByteRange& range) {
  if (!overlap(extent, range)) return {extent};
  std::vector<Extent> parts;
  if (extent.start < range.offset) parts.push_back(part_of(extent, 0, range.offset));
  if (end_of(extent) > end_of(range)) parts.push_back(part_of(extent, end_of(range), kNowhere));
  return parts;
}

std::vector<Extent> inside(std::vector<Extent> extents, const ByteRange& range) {
  std::erase_if(extents, [&](const Extent& extent) { return !overlap(extent, range); });
  for (auto& extent : extents) extent = part_of(extent, range.offset, end_of(range));
  return extents;
}

bool worth_packing(const std::vector<Extent>& fragments) {
  return fragments.size() > kMaxCellFragments && packed(fragments, 0).size() * 2 <= fragments.size();
}

std::vector<Extent> packed(const std::vector<Extent>& fragments, PayloadId payload) {
  std::vector<Extent> runs;
  std::uint64_t from = 0;
  for (const auto& fragment : fragments) {
    if (!runs.empty() && touch(runs.back(), fragment)) {
      runs.back().size += fragment.size;
    } else {
      runs.push_back({fragment.start, fragment.size, payload, from, {}});
    }
    from += fragment.size;
  }
  return runs;
}

void add_range(std::vector<ChangedRange>& ranges, const ChangedRange& next) {
  if (!ranges.empty() && ranges.back().start + ranges.back().size == next.start &&
      ranges.back().cleared == next.cleared) {
    ranges.back().size += next.size;
  } else {
    ranges.push_back(next);
  }
}

std::vector<ChangedRange> changes_between(const std::vector<Extent>& old, const std::vector<Extent>& now,
                                          const ByteRange& window) {
  std::vector<ChangedRange> changes;
  Walk before(old);
  Walk after(now);
  for (auto place = window.offset; place < end_of(window);) {
    before.go_to(place);
    after.go_to(place);
    const auto until = std::min({before.until(), after.until(), end_of(window)});
    const auto* was = before.here();
    const auto* is = after.here();
    const bool cleared = was != nullptr && is == nullptr;
    const bool written = is != nullptr && (was == nullptr || !same_bytes(*was, *is));
    if (cleared || written) add_range(changes, {place, until - place, cleared});
    place = until;
  }
  return changes;
}

}  // namespace tidemark::blob_store
