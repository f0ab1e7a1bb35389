#include "table_store/storage/change_notes.h"

#include "table_store/storage/kept_changes.h"
#include "table_store/storage/table_keys.h"
#include "table_store/storage/test_switches.h"

namespace tidemark::table_store {
namespace {

// About the size of a note beside its keys and values.
constexpr std::size_t kNoteOverhead = 48;

/// Returns which of its bounds the follower would exceed; empty: none.
std::string exceeded_bound(const FeedRecord& feed, const FollowerRecord& follower, const HeadRecord& head) {
  const auto most = feed.share_of(follower.following.max_changes);
  if (head.changes - follower.changes > most) return std::to_string(most) + " changes";
  const auto size = feed.share_of(follower.following.max_bytes);
  if (head.bytes - follower.bytes > size) return std::to_string(size) + " bytes of changes";
  return {};
}

std::unexpected<Error> refuse(const FeedRecord& feed, const Following& following, const std::string& bound) {
  return fail(ErrorCode::kServerBusy, "The table " + feed.table + " refuses writes: more than " + bound +
                                          " would wait for its follower '" + following.follower + "'" +
                                          (feed.division ? " on this shard" : "") + ". Retry once it has caught up.");
}

}  // namespace

Result<ChangeNotes::Open*> ChangeNotes::open(const std::shared_ptr<const Capture>& capture) {
  for (auto& feed : feeds_) {
    if (feed.capture->feed == capture->feed) return &feed;
  }
  feeds_.push_back({capture, TRY(read_head(txn_, capture->feed))});
  return &feeds_.back();
}

void ChangeNotes::add(Open& feed, Note note) {
  auto& head = feed.head;
  note.changes = ++head.changes;
  note.bytes = head.bytes += kNoteOverhead + note.partition_key.size() + note.row_key.size() + note.before.size() +
                             (note.after ? note.after->size() : 0) + note.cause.size();
  txn_.put(note_key(feed.capture->feed, version_, feed.noted++), encode_note(note));
}

Result<void> ChangeNotes::note(const std::shared_ptr<const Capture>& capture, std::string_view partition_key,
                               std::string_view row_key, const EntityView* before, NoteKind kind,
                               const std::optional<OriginView>& origin, std::string_view block,
                               std::string_view cause) {
  if (!capture || test_switches().leave_out_notes.load(std::memory_order_relaxed)) return {};
  const bool was_there = before != nullptr && !capture->made(before->origin);
  const bool is_there = kind != NoteKind::kErased && !capture->made(origin);
  if (!was_there && !is_there) return {};
  auto* feed = TRY(open(capture));
  if (!feed->head.live) return {};
  Note note;
  note.kind = is_there ? kind : NoteKind::kErased;
  note.was_there = was_there;
  note.partition_key = partition_key;
  note.row_key = row_key;
  if (capture->kept) note.cause = cause;
  if (was_there && capture->old_values) {
    if (!is_property_block(before->block)) return corrupt_record("entity");
    note.before = before->block;
    note.before_version = before->version;
  } else if (was_there) {
    auto chosen = chosen_properties(before->block, capture->properties);
    if (!chosen) return corrupt_record("entity");
    note.before = std::move(*chosen);
  }
  if (is_there && capture->new_values) note.after = block;
  add(*feed, std::move(note));
  return {};
}

Result<void> ChangeNotes::note_table(const std::shared_ptr<const Capture>& capture, NoteKind kind,
                                     std::string_view which) {
  if (!capture || test_switches().leave_out_notes.load(std::memory_order_relaxed)) return {};
  auto* feed = TRY(open(capture));
  if (!feed->head.live) return {};
  Note note;
  note.kind = kind;
  note.row_key = which;
  add(*feed, std::move(note));
  return {};
}

Result<bool> ChangeNotes::keep_bounds(Open& open) {
  auto feed = TRY(read_feed(txn_, open.capture->feed_key));
  if (!feed) return corrupt_record("feed");
  bool less = false;
  for (auto& follower : feed->followers) {
    if (follower.stale) continue;
    const auto bound = exceeded_bound(*feed, follower, open.head);
    if (bound.empty()) continue;
    if (follower.following.refuse_writes) return refuse(*feed, follower.following, bound);
    less = follower.stale = true;
  }
  if (feed->kept && open.head.bytes - feed->kept->bytes > most_bytes(*feed)) {
    less = TRY(let_go_of_bytes(txn_, *feed, open.head.bytes, version_)) || less;
  }
  set_bounds(open.head, *feed);
  if (less) txn_.put(open.capture->feed_key, kFeedRecord.encode(*feed));
  return less;
}

Result<NotedFeeds> ChangeNotes::finish(Bounds bounds) {
  NotedFeeds out;
  for (auto& feed : feeds_) {
    if (feed.noted == 0) continue;
    auto& head = feed.head;
    const bool beyond = head.changes > head.changes_bound || head.bytes > head.bytes_bound;
    if (beyond && bounds == Bounds::kKeep && TRY(keep_bounds(feed))) out.staled.push_back(feed.capture);
    txn_.put(head_key(feed.capture->feed), kHeadRecord.encode(head));
    out.noted.push_back(std::move(feed.capture));
  }
  return out;
}

}  // namespace tidemark::table_store
