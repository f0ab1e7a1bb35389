#include "table_store/storage/table_changes.h"

#include "table_store/storage/change_notes.h"
#include "table_store/storage/feed_rows.h"
#include "table_store/storage/mutation_job.h"

namespace tidemark::table_store {
namespace {

/// Stands for all changes of a version.
constexpr std::uint32_t kWholeVersion = std::numeric_limits<std::uint32_t>::max() - 1;

constexpr auto kTableChange = record_format<TableChange>(1, "change of a table", [](auto& io, auto& change) {
  io.u8(change.kind);
  io.i64(change.now);
  io.u64(change.generation);
  io.varint(change.shards);
  io.u64(change.feed);
  io.string(change.table);
  following_fields(io, change.following);
  io.boolean(change.anew);
  declaration_fields(io, change.kept);
  if constexpr (std::remove_cvref_t<decltype(io)>::kReads) {
    if (io.bytes.finished()) return;  // the record is older than lists
  }
  lists_fields(io, change.following);
});

/// Tells whether changes that wait for the follower were noted without a property that it asks for now.
bool waits_for_more(const FollowerRecord& known, const HeadRecord& head, const Following& asked) {
  const auto& had = known.following.properties;
  return known.changes < head.changes &&
         !std::ranges::all_of(
             asked.properties, [&](const auto& property) { return std::ranges::find(had, property) != had.end(); });
}

/// Returns the follower of this name. If it is new, it follows nothing yet and is inserted in the order of names.
FollowerRecord& find_or_add(FeedRecord& feed, const std::string& name, bool& added) {
  auto* known = feed.find(name);
  added = known == nullptr;
  if (known != nullptr) return *known;
  const auto place =
      std::ranges::lower_bound(feed.followers, name, {}, [](const auto& one) { return one.following.follower; });
  return *feed.followers.emplace(place);
}

Result<void> follow(const kv::Reader& rows, LoadedFeed& feed, const TableChange& change) {
  bool added = false;
  auto& follower = find_or_add(feed.record, change.following.follower, added);
  const bool lacks = !added && waits_for_more(follower, feed.head, change.following);
  follower.following = change.following;
  follower.stale = follower.stale || lacks;
  if (!added && !change.anew) return {};
  follower = {change.following, TRY(last_version(rows)), feed.head.changes, feed.head.bytes, false};
  return {};
}

Result<void> put_feed(const kv::Reader& rows, LoadedFeed& feed, const TableChange& change) {
  auto& kept = feed.record.kept;
  if (!kept) {
    const auto last = TRY(last_version(rows));
    kept = {change.kept, change.generation, last, kWholeVersion, feed.head.changes, feed.head.bytes};
  }
  kept->feed = change.kept;
  return {};
}

/// Notes the drop: the last note about the table's entities.
Result<void> note_drop(kv::Transaction& txn, const std::string& key, LoadedFeed& feed, std::uint64_t version,
                       const TableChange& change) {
  const auto at = TRY(next_version(txn, change.now));
  ChangeNotes notes(txn, at);
  const auto which = feed.record.division ? std::to_string(version) : std::string();
  TRY(notes.note_table(capture_of(feed.record, key), NoteKind::kDropped, which));
  txn.put(kLastVersionKey, kCounterRecord.encode(static_cast<std::uint64_t>(at)));
  // However far a follower is behind: refusing the drop would gain nothing but keep all those entities.
  TRY(notes.finish(ChangeNotes::Bounds::kIgnore));
  if (!feed.record.division) return {};
  feed.record.division->dropped = version;
  txn.put(key, kFeedRecord.encode(feed.record));
  return {};
}

bool begins_log(TableChangeKind kind) { return kind == TableChangeKind::kFollow || kind == TableChangeKind::kPutFeed; }

}  // namespace

std::string encode_table_change(const TableChange& change) { return kTableChange.encode(change); }

Result<TableChange> decode_table_change(std::string_view bytes) {
  if (bytes.size() == sizeof(std::uint64_t)) {
    TableChange drop;
    drop.generation = *kv::take_u64(bytes);
    return drop;
  }
  auto change = TRY(kTableChange.decode(bytes));
  if (change.kind < TableChangeKind::kDrop || change.kind > TableChangeKind::kLast)
    return corrupt_record("change of a table");
  return change;
}

Result<void> change_logs(kv::Transaction& txn, const std::string& feed_key, std::uint64_t version,
                         const TableChange& change) {
  auto feed = TRY(load_feed(txn, feed_key));
  if (!feed && !begins_log(change.kind)) return {};
  if (!feed) {
    feed.emplace().record.feed = change.feed;
    if (change.shards > 1) feed->record.division = {.shards = change.shards};
  }
  if (auto& division = feed->record.division) {
    if (division->change >= version) return {};
    division->change = version;
  }
  if (begins_log(change.kind)) feed->record.table = change.table;
  switch (change.kind) {
    case TableChangeKind::kDrop:
      return note_drop(txn, feed_key, *feed, version, change);
    case TableChangeKind::kFollow:
      TRY(follow(txn, *feed, change));
      break;
    case TableChangeKind::kUnfollow:
      std::erase_if(feed->record.followers,
                    [&](const auto& one) { return one.following.follower == change.following.follower; });
      break;
    case TableChangeKind::kPutFeed:
      TRY(put_feed(txn, *feed, change));
      break;
    case TableChangeKind::kDropFeed:
      feed->record.kept.reset();
      break;
  }
  store_or_end_feed(txn, feed_key, *feed);
  return {};
}

}  // namespace tidemark::table_store
