#include "blob_store/storage/page_edit.h"

#include <algorithm>
#include <map>

#include "blob_store/storage/blob_keys.h"
#include "blob_store/storage/contents.h"
#include "blob_store/storage/payload.h"

namespace tidemark::blob_store {
namespace {

constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

/// Returns nothing if these bytes were not read.
std::optional<std::string_view> find_bytes(const std::vector<FileBytes>& files, const Extent& fragment) {
  for (const auto& read : files) {
    const auto skip = fragment.from - read.from;
    const bool holds =
        read.payload == fragment.payload && fragment.from >= read.from && skip + fragment.size <= read.bytes.size();
    if (holds) return std::string_view(read.bytes).substr(skip, fragment.size);
  }
  return std::nullopt;
}

/// Returns the bytes of all fragments, one behind the other. Reads each row once, and keeps only one in memory.
Result<std::optional<std::string>> bytes_of(const kv::Reader& rows, const std::vector<Extent>& fragments,
                                            const std::vector<FileBytes>& files) {
  std::multimap<PayloadId, std::pair<std::size_t, const Extent*>> by_payload;
  std::size_t size = 0;
  for (const auto& fragment : fragments) {
    by_payload.emplace(fragment.payload, std::pair(size, &fragment));
    size += fragment.size;
  }
  std::string out(size, '\0');
  std::string row;
  PayloadId read = 0;
  for (const auto& [payload, place] : by_payload) {
    const auto& [at, fragment] = place;
    if (!is_file(payload) && read != payload) {
      row = TRY(open_chunk(payload, 0, TRY(rows.get(blob_keys::payload(payload))).value_or("")));
      read = payload;
    }
    const auto bytes = is_file(payload) ? find_bytes(files, *fragment)
                                        : std::optional(std::string_view(row).substr(
                                              std::min<std::size_t>(fragment->from, row.size()), fragment->size));
    if (!bytes) return std::optional<std::string>();
    if (bytes->size() != fragment->size) return fail(ErrorCode::kCorruption);
    std::ranges::copy(*bytes, out.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return std::optional(std::move(out));
}

}  // namespace

Result<std::vector<Extent>> PageEdit::overlapping(const ByteRange& range, std::size_t limit) const {
  return read_extents(txn_, Content{content_}, end_of(range), range.offset, limit);
}

/// Leaves the parts of the extents that are outside the range.
Result<void> PageEdit::cut(const std::vector<Extent>& extents, const ByteRange& range) {
  for (const auto& extent : extents) {
    txn_.erase(blob_keys::extent(content_, extent.start, 0));
    const auto parts = outside(extent, range);
    for (const auto& part : parts) put_extent(txn_, content_, part, 0);
    if (parts.empty()) given_up_.push_back(extent.payload);
    if (parts.size() == 2) TRY(share_payload(txn_, extent.payload));
  }
  return {};
}

Result<void> PageEdit::replace(const ByteRange& range, const std::vector<Extent>& fresh) {
  TRY(cut(TRY(overlapping(range, kNoLimit)), range));
  for (const auto& extent : fresh) put_extent(txn_, content_, extent, 0);
  return {};
}

Result<std::uint64_t> PageEdit::clear(const ByteRange& range, std::size_t limit) {
  auto extents = TRY(overlapping(range, limit + 1));
  auto front = range;
  if (extents.size() > limit) {
    front.length = extents.back().start - range.offset;
    extents.pop_back();
  }
  TRY(cut(extents, front));
  return end_of(front);
}

Result<void> PageEdit::pack(const ByteRange& cell, const std::vector<FileBytes>& files) {
  const auto fragments = inside(TRY(overlapping(cell, kNoLimit)), cell);
  if (!worth_packing(fragments)) return {};
  auto bytes = bytes_of(txn_, fragments, files);
  // A damaged cell stays as it is, so the pages beside it can still be written.
  if (bytes.failed_with(ErrorCode::kCorruption)) return {};
  auto all = TRY(bytes);
  if (!all) return {};
  const auto size = all->size();
  const auto payload = TRY(settle(txn_, ids_, WrittenPayload{0, size, std::move(*all)}));
  const auto runs = packed(fragments, payload);
  if (!runs.empty()) TRY(share_payload(txn_, payload, runs.size() - 1));
  return replace(cell, runs);
}

Result<bool> PageEdit::finish() {
  const auto given_up = std::exchange(given_up_, {});
  std::vector<PayloadId> files;
  for (const auto payload : given_up) {
    if (is_file(payload)) files.push_back(payload);
    if (!is_file(payload)) TRY(release_payload(txn_, payload));
  }
  if (!files.empty()) TRY(release_after_readers(txn_, ids_, files, content_));
  return !files.empty();
}

}  // namespace tidemark::blob_store
