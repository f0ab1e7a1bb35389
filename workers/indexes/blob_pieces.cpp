#include "workers/indexes/blob_pieces.h"

#include <algorithm>
#include <cstdio>

#include "common/base/side_by_side.h"
#include "indexes/rows/blob_names.h"
#include "indexes/rows/list_piece.h"
#include "indexes/store/read_entities.h"
#include "jobs/store/rows.h"
#include "workers/runtime/fail_points.h"

namespace tidemark::workers {
namespace {

using indexes::kBlobListForm;
using indexes::kBlobProperty;
using indexes::kBytesProperty;
using indexes::PieceBlob;
using jobs::property;
using jobs::property_or;
using table_store::Fence;
using table_store::Mutation;
using table_store::PartitionMutations;

constexpr std::size_t kBlobsAtOnce = 32;
/// The bytes of keys that are held in memory at once.
constexpr std::int64_t kLoadedBytes = 4LL << 20;
constexpr std::uint32_t kNotesAtOnce = 500;
constexpr const char* kMediaType = "application/json";
constexpr const char* kPartitionProperty = "Partition";
constexpr const char* kRowProperty = "Row";

std::string index_table() { return std::string(indexes::kIndexTable); }
std::string notes_of(const indexes::Index& index) { return "blobs " + index.id; }

std::string note_key(std::uint64_t version, std::size_t number) {
  char text[40];
  std::snprintf(text, sizeof text, "%016llx-%08zx", static_cast<unsigned long long>(version), number);
  return text;
}

Mutation note_row(std::string row_key, const std::string& blob, const jobs::EntityKey& row) {
  Mutation mutation;
  mutation.kind = table_store::MutationKind::kInsertOrReplace;
  mutation.row_key = std::move(row_key);
  mutation.lenient = true;
  mutation.properties = {
      {std::string(kBlobProperty), blob}, {kPartitionProperty, row.partition_key}, {kRowProperty, row.row_key}};
  return mutation;
}

}  // namespace

BlobPieces::BlobPieces(IndexRowsContext context, const indexes::ListsKind& kind)
    : context_(context),
      blobs_(*context.blobs),
      container_(kind.container),
      prefix_(kind.prefix),
      contents_(*context.blobs, context.clock, kind.container) {}

Task<Result<void>> BlobPieces::begin() {
  auto fence = context_.fences.next();
  closed_ = CO_TRY(co_await blobs_.open_operation(std::move(fence.operation_id), fence.epoch, 0)).closed;
  if (closed_) co_return Result<void>{};
  co_return co_await settle_all();
}

Task<Result<void>> BlobPieces::end() {
  if (closed_) co_return Result<void>{};
  std::string from;
  do from = CO_TRY(co_await sweep(std::move(from))).next;
  while (!from.empty());
  auto fence = context_.fences.next();
  CO_TRY(co_await blobs_.close_operation(std::move(fence.operation_id), fence.epoch, 0));
  co_return Result<void>{};
}

Task<Result<std::size_t>> BlobPieces::load(std::vector<Entity*> rows) {
  std::vector<Entity*> some;
  std::size_t count = 0;
  for (std::int64_t bytes = 0; count < rows.size(); ++count) {
    if (rows[count] == nullptr) continue;
    bytes += property_or<std::int64_t>(*rows[count], kBytesProperty);
    if (bytes > kLoadedBytes && !some.empty()) break;
    some.push_back(rows[count]);
  }
  CO_TRY(co_await contents_.add_keys(std::move(some)));
  co_return count;
}

/// Takes the keys out of the rows that will be written, and puts in the names of the blobs that will hold the keys.
void BlobPieces::take_keys(PartitionMutations& group, std::uint64_t version, std::vector<NewBlob>& blobs,
                           std::vector<Note>& notes) const {
  const auto before_group = indexes::lists_of(context_.index.id).size() + 1;
  for (auto& mutation : group.mutations) {
    auto& properties = mutation.properties;
    const auto keys = std::ranges::find(properties, kBlobListForm.keys, &table_store::Property::name);
    const auto bound = indexes::bound_of(mutation.row_key);
    if (keys == properties.end() || !bound) continue;
    auto name = indexes::blob_name(prefix_, {group.partition_key.substr(before_group), *bound, version});
    auto text = std::move(std::get<std::string>(keys->value));
    properties.erase(keys);
    properties.push_back({std::string(kBlobProperty), name});
    properties.push_back({std::string(kBytesProperty), static_cast<std::int64_t>(text.size())});
    notes.push_back({name, {group.partition_key, mutation.row_key}, {}});
    blobs.push_back({std::move(name), std::move(text)});
  }
}

Task<Result<std::vector<Outcomes>>> BlobPieces::write(std::vector<PartitionMutations> groups,
                                                      std::vector<const Entity*> replaced) {
  const auto fence = context_.fences.next();
  std::vector<NewBlob> blobs;
  std::vector<Note> notes;
  for (auto& group : groups) take_keys(group, fence.epoch, blobs, notes);
  for (const auto* row : replaced) {
    const auto* blob = property<std::string>(*row, kBlobProperty);
    if (blob != nullptr) notes.push_back({*blob, {row->partition_key, row->row_key}, {}});
  }
  for (std::size_t i = 0; i < notes.size(); ++i) notes[i].row_key = note_key(fence.epoch, i);
  CO_TRY(co_await put_notes(notes));
  CO_TRY(co_await put_blobs(std::move(blobs), fence));
  auto outcomes = CO_TRY(co_await write_groups(context_.writing(), groups));
  CO_TRY(co_await settle(std::move(notes)));
  co_return outcomes;
}

Task<Result<void>> BlobPieces::put_notes(std::vector<Note> notes) {
  std::vector<RowChange> changes;
  for (auto& note : notes) {
    changes.push_back({notes_of(context_.index), note_row(std::move(note.row_key), note.blob, note.row)});
  }
  CO_TRY(co_await write_rows(context_.writing(), index_table(), changes));
  co_return Result<void>{};
}

Task<Result<void>> BlobPieces::put_blobs(std::vector<NewBlob> blobs, Fence fence) {
  const auto step = [&](std::size_t number) {
    return fail_points::kFollowPutBlob.around(put_blob(std::move(blobs[number]), fence));
  };
  co_return co_await side_by_side(context_.clock, blobs.size(), step, kBlobsAtOnce);
}

Task<Result<void>> BlobPieces::put_blob(NewBlob blob, Fence fence) {
  blob_store::NewContent content;
  content.headers.type = kMediaType;
  content.metadata.emplace_back("tidemark_index", context_.index.name);
  const blob_store::FencedWrite write{std::move(fence), indexes::kPieceMark};
  auto put = co_await blobs_.put(container_, blob.name, content, blob.keys, write);
  if (put.failed_with(ErrorCode::kContainerNotFound)) {
    CO_TRY(co_await blobs_.ensure_container(container_));
    put = co_await blobs_.put(container_, blob.name, std::move(content), std::move(blob.keys), write);
  }
  if (CO_TRY(std::move(put)) == WriteOutcome::kApplied) co_return Result<void>{};
  // The next attempt uses other names.
  co_return fail(ErrorCode::kConditionNotMet,
                 "The blob " + blob.name + " of container " + container_ + " is there, " + "and not by this index.");
}

Task<Result<std::vector<BlobPieces::Note>>> BlobPieces::unnamed(std::vector<Note> notes) const {
  std::vector<jobs::EntityKey> keys;
  for (const auto& note : notes) keys.push_back(note.row);
  const auto rows = CO_TRY(co_await indexes::read_entities(context_.tables, index_table(), std::move(keys)));
  std::vector<Note> out;
  for (std::size_t i = 0; i < notes.size(); ++i) {
    const auto* named = rows[i] ? property<std::string>(*rows[i], kBlobProperty) : nullptr;
    if (named == nullptr || *named != notes[i].blob) out.push_back(std::move(notes[i]));
  }
  co_return out;
}

Task<Result<std::vector<BlobPieces::Note>>> BlobPieces::erase_blobs(std::vector<Note> notes) {
  const auto fence = context_.fences.next();
  std::vector<char> there(notes.size());
  const auto step = [&](std::size_t number) -> Task<Result<void>> {
    auto erased = fail_points::kFollowEraseBlob.around(erase_blob(notes[number].blob, fence));
    there[number] = CO_TRY(co_await std::move(erased)) ? 1 : 0;
    co_return Result<void>{};
  };
  CO_TRY(co_await side_by_side(context_.clock, notes.size(), step, kBlobsAtOnce));
  std::vector<Note> out;
  for (std::size_t i = 0; i < notes.size(); ++i) {
    if (there[i] != 0) out.push_back(std::move(notes[i]));
  }
  co_return out;
}

Task<Result<bool>> BlobPieces::erase_blob(std::string name, Fence fence) {
  auto erased = co_await blobs_.erase(container_, std::move(name), {std::move(fence), indexes::kPieceMark});
  if (erased.failed_with(ErrorCode::kContainerNotFound)) co_return false;
  co_return CO_TRY(std::move(erased)) == WriteOutcome::kApplied;
}

Task<Result<void>> BlobPieces::settle(std::vector<Note> notes) {
  if (notes.empty()) co_return Result<void>{};
  CO_TRY(co_await erase_blobs(CO_TRY(co_await unnamed(notes))));
  std::vector<RowChange> erasures;
  for (auto& note : notes) {
    erasures.push_back({notes_of(context_.index), jobs::erasure_of(std::move(note.row_key), {})});
  }
  CO_TRY(co_await write_rows(context_.writing(), index_table(), erasures));
  co_return Result<void>{};
}

Task<Result<void>> BlobPieces::settle_all() {
  auto request = jobs::rows_of(notes_of(context_.index));
  request.table = index_table();
  request.top = kNotesAtOnce;
  do {
    auto page = CO_TRY(co_await context_.tables.query(request));
    request.continuation = std::move(page.continuation);
    std::vector<Note> notes;
    for (const auto& row : page.entities) {
      notes.push_back({property_or<std::string>(row, kBlobProperty),
                       {property_or<std::string>(row, kPartitionProperty), property_or<std::string>(row, kRowProperty)},
                       row.row_key});
    }
    CO_TRY(co_await settle(std::move(notes)));
  } while (!request.continuation.empty());
  co_return Result<void>{};
}

Task<Result<BlobSweep>> BlobPieces::sweep(std::string from) {
  BlobSweep out;
  auto listed = co_await blobs_.list(container_, prefix_, std::move(from));
  if (listed.failed_with(ErrorCode::kContainerNotFound)) co_return out;
  auto page = CO_TRY(std::move(listed));
  out.next = std::move(page.next);
  std::vector<Note> found;
  for (auto& name : page.names) {
    const auto blob = indexes::parse_blob_name(prefix_, name);
    if (!blob) continue;
    const auto place = indexes::group_in_blobs(context_.index.id, blob->group);
    found.push_back({std::move(name), {place.partition_key, place.row_key(blob->bound)}, {}});
  }
  out.checked = found.size();
  for (auto& note : CO_TRY(co_await erase_blobs(CO_TRY(co_await unnamed(std::move(found)))))) {
    out.wrong.push_back({std::move(note.row.partition_key), std::move(note.blob)});
  }
  co_return out;
}

}  // namespace tidemark::workers
