#include "table_store/storage/kept_changes.h"

#include "table_store/storage/table_keys.h"

namespace tidemark::table_store {
namespace {

struct FoundNote {
  NotePlace place;
  std::uint64_t changes = 0, bytes = 0;  // of the log up to and including it
};

Result<std::optional<FoundNote>> found_at(const kv::Cursor& cursor) {
  TRY(cursor.status());
  if (!cursor.valid()) return std::nullopt;
  const auto place = place_of_note(cursor.key());
  if (!place) return corrupt_record("note");
  const auto note = TRY(decode_note(cursor.value()));
  return FoundNote{*place, note.changes, note.bytes};
}

/// Returns the last kept note that has at most this version.
Result<std::optional<FoundNote>> last_through(const kv::Reader& reader, std::uint64_t feed, const KeptRecord& kept,
                                              Version version) {
  const kv::KeyRange range{note_key(feed, kept.gone + 1, 0), note_key(feed, version + 1, 0)};
  if (version <= kept.gone) return std::nullopt;
  const auto cursor = reader.scan(range, kv::Direction::kReverse);
  return found_at(*cursor);
}

void let_go(KeptRecord& kept, const FoundNote& note) {
  kept.gone = note.place.version;
  kept.gone_index = static_cast<std::uint32_t>(note.place.index);
  kept.changes = note.changes;
  kept.bytes = note.bytes;
}

}  // namespace

Result<bool> let_go_of_bytes(const kv::Reader& reader, FeedRecord& feed, std::uint64_t bytes, Version last) {
  auto& kept = *feed.kept;
  const auto most = feed.share_of(kept.feed.max_bytes);
  if (bytes - kept.bytes <= most) return false;
  const auto enough = bytes - most;
  // Stopping at `low` is not enough, stopping at `last` is.
  for (auto low = kept.gone; last - low > 1;) {
    const auto middle = low + (last - low) / 2;
    const auto note = TRY(last_through(reader, feed.feed, kept, middle));
    if (note && note->bytes >= enough) {
      last = note->place.version;
    } else {
      low = middle;
    }
  }
  return let_go_through(reader, feed.feed, kept, last);
}

Result<bool> let_go_through(const kv::Reader& reader, std::uint64_t feed, KeptRecord& kept, Version version) {
  const auto note = TRY(last_through(reader, feed, kept, version));
  if (!note) return false;
  let_go(kept, *note);
  return true;
}

Result<PlaceStatus> status_of_place(const kv::Reader& reader, const FeedRecord& feed, const HeadRecord& head,
                                    LogPlace place) {
  const auto& kept = *feed.kept;
  PlaceStatus status;
  status.gone = place < kept.begin();
  const auto from = std::max(place, kept.begin());
  const kv::KeyRange before{note_key(feed.feed, kept.gone + 1, 0), note_key(feed.feed, from.version, from.index)};
  std::optional<FoundNote> last_read;
  if (before.lower < before.upper) last_read = TRY(found_at(*reader.scan(before, kv::Direction::kReverse)));
  status.changes = head.changes - (last_read ? last_read->changes : kept.changes);
  status.bytes = head.bytes - (last_read ? last_read->bytes : kept.bytes);
  const auto next = TRY(found_at(*reader.scan(notes_from(feed.feed, from.version, from.index))));
  if (next) status.oldest = Time(Ticks(next->place.version));
  return status;
}

}  // namespace tidemark::table_store
