#include "table_store/storage/change_records.h"

#include <limits>

#include "table_store/storage/table_keys.h"

namespace tidemark::table_store {
namespace {

constexpr std::uint8_t kWasThere = 1;
constexpr std::uint8_t kWholeBefore = 2;
constexpr std::uint8_t kHasAfter = 4;
constexpr std::uint8_t kHasCause = 8;
constexpr std::uint8_t kAllNoteFlags = kWasThere | kWholeBefore | kHasAfter | kHasCause;
constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

std::uint64_t bound_of(std::uint64_t at, std::uint64_t more) { return more > kNever - at ? kNever : at + more; }

}  // namespace

const FollowerRecord* FeedRecord::find(std::string_view follower) const {
  const auto found =
      std::ranges::find(followers, follower, [](const auto& one) { return std::string_view(one.following.follower); });
  return found == followers.end() ? nullptr : &*found;
}
FollowerRecord* FeedRecord::find(std::string_view follower) {
  return const_cast<FollowerRecord*>(std::as_const(*this).find(follower));
}

std::optional<std::string> chosen_properties(std::string_view block, const std::vector<std::string>& names) {
  struct Piece {
    std::string_view name, bytes;
  };
  std::vector<Piece> pieces;
  PropertyReader reader(block);
  for (auto before = reader.rest(); reader.next(); before = reader.rest()) {
    if (!std::binary_search(names.begin(), names.end(), reader.name())) continue;
    pieces.push_back({reader.name(), before.substr(0, before.size() - reader.rest().size())});
  }
  if (!reader.ok() || !reader.rest().empty()) return std::nullopt;
  std::ranges::sort(pieces, {}, &Piece::name);
  std::string out;
  ByteWriter writer(out);
  writer.varint(pieces.size());
  for (const auto& piece : pieces) writer.raw(piece.bytes);
  return out;
}

std::string encode_note(const Note& note) {
  constexpr std::size_t kLargestHead = 3 + 8 + 5 * 10;
  const auto after = note.after ? note.after->size() : 0;
  std::string bytes;
  bytes.reserve(kLargestHead + note.partition_key.size() + note.row_key.size() + note.before.size() + after +
                note.cause.size());
  ByteWriter out(bytes);
  out.u8(kChangeFormat);
  out.u8(static_cast<std::uint8_t>(note.kind));
  out.u8(static_cast<std::uint8_t>((note.was_there ? kWasThere : 0) | (note.before_version ? kWholeBefore : 0) |
                                   (note.after ? kHasAfter : 0) | (note.cause.empty() ? 0 : kHasCause)));
  out.string(note.partition_key);
  out.string(note.row_key);
  out.varint(note.changes);
  out.varint(note.bytes);
  if (note.before_version) out.i64(*note.before_version);
  if (note.after) out.string(*note.after);
  if (!note.cause.empty()) out.string(note.cause);
  if (note.was_there) out.raw(note.before);
  return bytes;
}

Result<Note> decode_note(std::string_view bytes) {
  ByteReader in(bytes);
  Note note;
  const auto format = in.u8();
  const auto kind = in.u8();
  const auto flags = in.u8();
  const bool known = kind >= 1 && kind <= static_cast<std::uint8_t>(NoteKind::kLast) && flags <= kAllNoteFlags;
  if (format != kChangeFormat || !known) return corrupt_record("note");
  note.kind = static_cast<NoteKind>(kind);
  note.was_there = (flags & kWasThere) != 0;
  const bool whole = (flags & kWholeBefore) != 0;
  if (whole && !note.was_there) return corrupt_record("note");
  note.partition_key = in.string();
  note.row_key = in.string();
  note.changes = in.varint();
  note.bytes = in.varint();
  if (whole) note.before_version = in.i64();
  if ((flags & kHasAfter) != 0) note.after = in.string();
  if ((flags & kHasCause) != 0) note.cause = in.string();
  note.before = in.rest();
  if (!in.ok() || note.was_there != is_property_block(note.before)) return corrupt_record("note");
  if (note.after && !is_property_block(*note.after)) return corrupt_record("note");
  return note;
}

Result<std::optional<FeedRecord>> read_feed(const kv::Reader& reader, std::string_view feed_key) {
  const auto bytes = TRY(reader.get(feed_key));
  if (!bytes) return std::nullopt;
  return TRY(kFeedRecord.decode(*bytes));
}

Result<HeadRecord> read_head(const kv::Reader& reader, std::uint64_t feed) {
  const auto bytes = TRY(reader.get(head_key(feed)));
  if (!bytes) return corrupt_record("head of a feed");
  return kHeadRecord.decode(*bytes);
}

std::shared_ptr<const Capture> capture_of(const FeedRecord& feed, std::string feed_key) {
  auto capture = std::make_shared<Capture>();
  capture->feed_key = std::move(feed_key);
  capture->feed = feed.feed;
  for (const auto& [following, position, changes, bytes, stale] : feed.followers) {
    capture->followers.push_back(following.follower);
    capture->properties.insert(capture->properties.end(), following.properties.begin(), following.properties.end());
  }
  if (feed.kept) {
    capture->kept = true;
    capture->old_values = feed.kept->feed.old_values;
    capture->new_values = feed.kept->feed.new_values;
  }
  std::ranges::sort(capture->followers);
  std::ranges::sort(capture->properties);
  const auto repeats = std::ranges::unique(capture->properties);
  capture->properties.erase(repeats.begin(), repeats.end());
  return capture;
}

Result<std::shared_ptr<const Capture>> read_capture(const kv::Reader& reader, std::string feed_key) {
  const auto feed = TRY(read_feed(reader, feed_key));
  if (!feed) return nullptr;
  return capture_of(*feed, std::move(feed_key));
}

std::uint64_t most_bytes(const FeedRecord& feed) {
  const auto share = feed.share_of(feed.kept->feed.max_bytes);
  return share + share / 8;
}

void set_bounds(HeadRecord& head, const FeedRecord& feed) {
  head.changes_bound = head.bytes_bound = kNever;
  head.live = false;
  for (const auto& follower : feed.followers) {
    if (follower.stale) continue;
    head.live = true;
    head.changes_bound =
        std::min(head.changes_bound, bound_of(follower.changes, feed.share_of(follower.following.max_changes)));
    head.bytes_bound =
        std::min(head.bytes_bound, bound_of(follower.bytes, feed.share_of(follower.following.max_bytes)));
  }
  if (!feed.kept) return;
  head.live = true;
  head.bytes_bound = std::min(head.bytes_bound, bound_of(feed.kept->bytes, most_bytes(feed)));
}

}  // namespace tidemark::table_store
