// Page blobs are sparse. They consist of extents, which writes cut, split and replace.
#include <algorithm>

#include "blob_store/model/names.h"
#include "blob_store/storage/blob_keys.h"
#include "blob_store/storage/blob_lookup.h"
#include "blob_store/storage/blob_service.h"
#include "blob_store/storage/contents.h"

namespace tidemark::blob_store {
namespace {

const FailStep kPutPagesStep("blob.put_pages");
const FailStep kClearPagesStep("blob.clear_pages");

constexpr std::size_t kClearedPerStep = 16'384;
constexpr std::size_t kComparedAtOnce = 1024;
constexpr int kComparisonsPerPage = 200;
constexpr std::uint64_t kMaxSequenceNumber = std::numeric_limits<std::int64_t>::max();

Result<void> check_sequence(const SequenceConditions& wanted, const Blob& blob) {
  const auto number = blob.sequence_number;
  const bool met = (!wanted.at_most || number <= *wanted.at_most) && (!wanted.below || number < *wanted.below) &&
                   (!wanted.equal || number == *wanted.equal);
  return met ? Result<void>() : fail(ErrorCode::kSequenceNumberConditionNotMet);
}

Result<void> check_within(const ByteRange& range, const Blob& blob) {
  if (end_of(range) <= blob.size) return {};
  return fail(ErrorCode::kInvalidPageRange, "The page range goes beyond the end of the blob.");
}

Result<void> change_sequence(const SequenceChange& change, Blob& blob) {
  auto& number = blob.sequence_number;
  if (change.action == SequenceAction::kMax) number = std::max(number, change.number);
  if (change.action == SequenceAction::kUpdate) number = change.number;
  if (change.action != SequenceAction::kIncrement) return {};
  if (number >= kMaxSequenceNumber) return fail(ErrorCode::kInvalidHeaderValue, "The sequence number cannot grow.");
  ++number;
  return {};
}

/// Reads the bytes that are in files if a write may make it necessary to rewrite the cell.
void read_cell(const OpenedBlob& opened, const ByteRange& cell, std::vector<FileBytes>& found) {
  constexpr std::size_t kAddedByWrite = 2;
  const auto end = std::min(end_of(cell), opened.blob.size);
  auto extents = read_extents(*opened.content.rows, opened.content.content, end, cell.offset, kCellBytes / kPageBytes);
  if (!extents || extents->size() + kAddedByWrite <= kMaxCellFragments) return;
  const auto fragments = inside(std::move(*extents), cell);
  if (packed(fragments, 0).size() * 2 > fragments.size() + kAddedByWrite) return;
  for (const auto& fragment : fragments) {
    if (!is_file(fragment.payload)) continue;
    auto reader = opened.read(fragment.start, fragment.size);
    std::string bytes;
    for (auto piece = reader.next(); piece && !piece->empty(); piece = reader.next()) bytes += *piece;
    found.push_back({fragment.payload, fragment.from, std::move(bytes)});
  }
}

/// Returns the range that a request for ranges walks over.
Result<ByteRange> window_of(const PageRangesRequest& request, std::uint64_t size) {
  ByteRange window{0, size};
  if (request.range) {
    if (request.range->offset > 0 && request.range->offset >= size) return fail(ErrorCode::kInvalidRange);
    const auto length = std::min(request.range->length, size - std::min(size, request.range->offset));
    const auto end = (request.range->offset + length + kPageBytes - 1) / kPageBytes * kPageBytes;
    window.offset = request.range->offset / kPageBytes * kPageBytes;
    window.length = std::min(end, size) - window.offset;
  }
  const auto from = std::clamp(request.from, window.offset, end_of(window));
  return ByteRange{from, end_of(window) - from};
}

/// Returns the extents of a content in a window; makes the window smaller if it has more than can be read at once.
Result<std::vector<Extent>> extents_in(const kv::Reader& rows, const Content& content, ByteRange& window) {
  auto extents = TRY(read_extents(rows, content, end_of(window), window.offset, kComparedAtOnce));
  if (extents.size() == kComparedAtOnce) {
    window.length = std::min(end_of(window), end_of(extents.back())) - window.offset;
  }
  return extents;
}

Result<void> find_changes(const kv::Reader& rows, const Content& old, const Content& now, ByteRange left,
                          std::size_t limit, PageRanges& found) {
  for (int turn = 0; left.length > 0; ++turn) {
    if (turn == kComparisonsPerPage) {
      found.next = left.offset;
      return {};
    }
    auto window = left;
    const auto before = TRY(extents_in(rows, old, window));
    const auto after = TRY(extents_in(rows, now, window));
    for (const auto& change : changes_between(before, after, window)) {
      add_range(found.ranges, change);
      if (found.ranges.size() <= limit) continue;
      found.next = found.ranges.back().start;
      found.ranges.pop_back();
      return {};
    }
    left = {end_of(window), end_of(left) - end_of(window)};
  }
  return {};
}

}  // namespace

Task<Result<Stamp>> BlobService::create_page_blob(BlobRef ref, NewContent content, std::uint64_t size,
                                                  std::uint64_t sequence_number, Conditions conditions) {
  auto blob = blob_of(CO_TRY(checked(std::move(content))), clock_.now());
  blob.type = BlobType::kPage;
  blob.size = size;
  blob.sequence_number = sequence_number;
  co_return co_await create_empty(std::move(ref), std::move(blob), std::move(conditions));
}

std::vector<FileBytes> BlobService::read_cells(const BlobRef& ref, const ByteRange& range) const {
  std::vector<FileBytes> found;
  const auto opened = open_blob(ref, {});
  if (!opened || opened->blob.type != BlobType::kPage) return found;  // the transaction reports the error
  const auto first = cell_of(range.offset);
  const auto last = cell_of(end_of(range) - 1);
  read_cell(*opened, first, found);
  if (last.offset != first.offset) read_cell(*opened, last, found);
  return found;
}

Task<Result<Blob>> BlobService::put_pages(BlobRef ref, ByteRange range, WrittenPayload payload,
                                          SequenceConditions wanted, Conditions conditions) {
  const auto files = read_cells(ref, range);
  bool released = false;
  const auto write = [&](kv::Transaction& txn, Ids ids, Blob& blob) -> Result<void> {
    TRY(check_sequence(wanted, blob));
    TRY(check_within(range, blob));
    TRY(own_content(txn, ids, blob.content, blob.size));
    PageEdit edit(txn, ids, blob.content.id);
    TRY(edit.replace(range, {{range.offset, range.length, TRY(settle(txn, ids, payload)), 0, {}}}));
    TRY(edit.pack(cell_of(range.offset), files));
    TRY(edit.pack(cell_of(end_of(range) - 1), files));
    released = TRY(edit.finish());
    return {};
  };
  auto done = co_await change_typed(ref, BlobType::kPage, std::move(conditions), write, kPutPagesStep);
  if (released) of(ref).collector.kick();
  co_return done;
}

Task<Result<Blob>> BlobService::clear_range(BlobRef ref, std::function<Result<ByteRange>(const Blob&)> range,
                                            std::function<Result<void>(Blob&)> last, Conditions conditions) {
  std::uint64_t done_to = 0;
  for (bool first = true;; first = false) {
    const auto from = done_to;
    bool more = false;
    const auto step = [&](kv::Transaction& txn, Ids ids, Blob& blob) -> Result<void> {
      const auto all = TRY(range(blob));
      const auto end = end_of(all);
      const auto start = first ? all.offset : from;
      more = false;
      if (all.length == blob.size) {
        TRY(release(txn, blob.content));
        blob.content = {};
      } else if (start < end && blob.content.id != 0) {
        TRY(own_content(txn, ids, blob.content, blob.size));
        PageEdit edit(txn, ids, blob.content.id);
        done_to = TRY(edit.clear({start, end - start}, kClearedPerStep));
        more = done_to < end;
        TRY(edit.finish());
      }
      return more ? Result<void>() : last(blob);
    };
    auto blob = CO_TRY(co_await change_typed(ref, BlobType::kPage, conditions, step, kClearPagesStep));
    of(ref).collector.kick();
    if (!more) co_return blob;
    // No other write may come between the steps; if one does, the client clears again.
    auto lease_id = std::move(conditions.lease_id);
    conditions = {};
    conditions.if_match = {blob.version.etag()};
    conditions.lease_id = std::move(lease_id);
  }
}

Task<Result<Blob>> BlobService::clear_pages(BlobRef ref, ByteRange range, SequenceConditions wanted,
                                            Conditions conditions) {
  const auto checked = [&](const Blob& blob) -> Result<ByteRange> {
    TRY(check_sequence(wanted, blob));
    TRY(check_within(range, blob));
    return range;
  };
  const auto nothing_else = [](Blob&) { return Result<void>(); };
  co_return co_await clear_range(std::move(ref), checked, nothing_else, std::move(conditions));
}

Task<Result<Blob>> BlobService::set_page_properties(BlobRef ref, PageProperties properties, Conditions conditions) {
  const auto tail = [&](const Blob& blob) -> Result<ByteRange> {
    const auto size = std::min(properties.size.value_or(blob.size), blob.size);
    return ByteRange{size, blob.size - size};
  };
  const auto change = [&](Blob& blob) -> Result<void> {
    blob.size = properties.size.value_or(blob.size);
    if (properties.headers) blob.headers = *properties.headers;
    blob.copy.reset();
    return properties.sequence ? change_sequence(*properties.sequence, blob) : Result<void>();
  };
  co_return co_await clear_range(std::move(ref), tail, change, std::move(conditions));
}

Result<PageRanges> BlobService::get_page_ranges(const BlobRef& ref, const PageRangesRequest& request,
                                                const Conditions& conditions) const {
  const auto& shard = of(ref);
  const auto rows = shard.engine.snapshot();
  const auto generation = TRY(generation_in(*rows, shard, ref.parent()));
  auto blob = TRY(find_version(*rows, generation, ref));
  if (!blob) return fail(ErrorCode::kBlobNotFound);
  PageRanges found{std::move(*blob), {}, {}};
  TRY(admit_read(conditions, found.blob, clock_.now()));
  if (found.blob.type != BlobType::kPage) return fail(ErrorCode::kInvalidBlobType);
  Content old;
  if (request.previous) {
    auto older = ref;
    older.snapshot = request.previous;
    const auto previous = TRY(find_version(*rows, generation, older));
    if (!previous) return fail(ErrorCode::kPreviousSnapshotNotFound);
    if (previous->type != BlobType::kPage) return fail(ErrorCode::kInvalidBlobType);
    old = previous->content;
  }
  const auto window = TRY(window_of(request, found.blob.size));
  if (request.previous && old.id == found.blob.content.id) return found;
  TRY(find_changes(*rows, old, found.blob.content, window, request.limit, found));
  return found;
}

}  // namespace tidemark::blob_store
