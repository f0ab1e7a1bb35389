// The extents of page blobs: cutting, packing and comparing them. Extents are in order and do not overlap; between them
// there are holes, which read as zeros. Pure.
#pragma once
#include <cstdint>
#include <vector>

#include "blob_store/model/blob.h"
#include "blob_store/model/byte_range.h"

namespace tidemark::blob_store {

inline constexpr std::uint64_t kPageBytes = 512;
inline constexpr std::uint64_t kMaxPageBlob = 8ULL << 40;
/// The cells of a page blob are bounded in how many fragments they may have.
inline constexpr std::uint64_t kCellBytes = 256ULL << 10;
inline constexpr std::size_t kMaxCellFragments = 64;

constexpr std::uint64_t end_of(const Extent& extent) { return extent.start + extent.size; }
constexpr std::uint64_t end_of(const ByteRange& range) { return range.offset + range.length; }
/// The cell that holds this place.
constexpr ByteRange cell_of(std::uint64_t place) { return {place / kCellBytes * kCellBytes, kCellBytes}; }

/// What of an extent is before and behind the range: none, one or two parts.
std::vector<Extent> outside(const Extent& extent, const ByteRange& range);
/// What of the extents is in the range.
std::vector<Extent> inside(std::vector<Extent> extents, const ByteRange& range);

/// Whether a cell of these fragments is to be rewritten: there are too many, and at least half of them would go.
bool worth_packing(const std::vector<Extent>& fragments);
/// The same places, with one extent for each run of fragments that touch, when their bytes are one behind the other in
/// `payload`.
std::vector<Extent> packed(const std::vector<Extent>& fragments, PayloadId payload);

struct ChangedRange {
  std::uint64_t start = 0;
  std::uint64_t size = 0;
  bool cleared = false;  // there are no bytes any more; otherwise there are other ones
  bool operator==(const ChangedRange&) const = default;
};
/// Adds a range that begins where the last one ends or behind; two of a kind that touch become one.
void add_range(std::vector<ChangedRange>& ranges, const ChangedRange& next);
/// What in the window is not as it was. Bytes are the same if they are at the same place of the same payload.
std::vector<ChangedRange> changes_between(const std::vector<Extent>& old, const std::vector<Extent>& now,
                                          const ByteRange& window);

}  // namespace tidemark::blob_store
