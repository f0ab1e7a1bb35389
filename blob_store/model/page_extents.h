// The extents of page blobs: functions that cut, pack and compare them. Extents are in order and do not overlap; the
// holes between them read as zeros. Pure.
#pragma once
#include <cstdint>
#include <vector>

#include "blob_store/model/blob.h"
#include "blob_store/model/byte_range.h"

namespace tidemark::blob_store {

inline constexpr std::uint64_t kPageBytes = 512;
inline constexpr std::uint64_t kMaxPageBlob = 8ULL << 40;
/// The number of fragments in each cell of a page blob is bounded.
inline constexpr std::uint64_t kCellBytes = 256ULL << 10;
inline constexpr std::size_t kMaxCellFragments = 64;

constexpr std::uint64_t end_of(const Extent& extent) { return extent.start + extent.size; }
constexpr std::uint64_t end_of(const ByteRange& range) { return range.offset + range.length; }
/// Returns the cell that holds this place.
constexpr ByteRange cell_of(std::uint64_t place) { return {place / kCellBytes * kCellBytes, kCellBytes}; }

/// Returns the parts of the extent before and behind the range: none, one or two.
std::vector<Extent> outside(const Extent& extent, const ByteRange& range);
/// Returns the parts of the extents that are in the range.
std::vector<Extent> inside(std::vector<Extent> extents, const ByteRange& range);

/// Tells whether a cell with these fragments should be rewritten: it has too many, and at least half would go.
bool worth_packing(const std::vector<Extent>& fragments);
/// Returns the same places, with one extent for each run of adjacent fragments, whose bytes follow each other in
/// `payload`.
std::vector<Extent> packed(const std::vector<Extent>& fragments, PayloadId payload);

struct ChangedRange {
  std::uint64_t start = 0;
  std::uint64_t size = 0;
  bool cleared = false;  // the bytes are gone; otherwise they were replaced
  bool operator==(const ChangedRange&) const = default;
};
/// Adds a range that begins at or behind the end of the last one; adjacent ranges of the same kind become one.
void add_range(std::vector<ChangedRange>& ranges, const ChangedRange& next);
/// Returns the ranges of the window that changed. Bytes are the same if they are at the same place of the same payload.
std::vector<ChangedRange> changes_between(const std::vector<Extent>& old, const std::vector<Extent>& now,
                                          const ByteRange& window);

}  // namespace tidemark::blob_store
