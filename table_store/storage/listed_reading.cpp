#include "table_store/storage/listed_reading.h"

#include "table_store/model/limits.h"
#include "table_store/storage/change_records.h"
#include "table_store/storage/query_plan.h"
#include "table_store/storage/row_searches.h"
#include "table_store/storage/table_keys.h"
#include "table_store/storage/test_switches.h"

namespace tidemark::table_store {

ProvenRows::ProvenRows(const TableShards& shards, std::string_view account, std::string_view table,
                       const RowSearch& search)
    : shards_(shards),
      shard_(shards.of(account, table, search.partition_key).number),
      earlier_(shards),
      logs_(shards),
      later_(shards) {
  if (shards.divided()) std::ignore = earlier_.of(shard_);
}

Result<bool> ProvenRows::unchanged(std::string_view key, std::string_view record) const {
  if (!shards_.divided()) return true;
  return TRY(earlier_.of(shard_).get(key)) == record;
}

Result<TableViews::Entities> entities_if_there(const TableViews& views, std::string_view account,
                                               std::string_view table) {
  auto entities = views.entities(account, table);
  if (entities.failed_with(ErrorCode::kTableNotFound)) return TableViews::Entities{};
  return entities;
}

Result<std::optional<Entity>> read_beside(const TableViews& views, std::string_view account, const ListedPlace& place) {
  const auto entities = TRY(entities_if_there(views, account, place.table));
  if (!entities.rows) return std::nullopt;
  const auto key = entity_key(entities.generation, place.partition_key, place.row_key);
  const auto record = TRY(entities.rows->get(key));
  if (!record) return std::nullopt;
  return TRY(entity_in(key, *record));
}

Result<Unsettled> Unsettled::of(const TableViews& logs, std::string_view feed_key, const std::string& follower,
                                std::size_t most) {
  Unsettled out;
  out.most_ = most;
  if (test_switches().prove_all.load(std::memory_order_relaxed)) {
    out.known_ = true;
    return out;
  }
  for (std::size_t shard = 0; shard < logs.size(); ++shard) {
    if (!TRY(out.add(logs.of(shard), feed_key, follower))) return Unsettled{};
  }
  out.known_ = true;
  return out;
}

Result<bool> Unsettled::add(const kv::Reader& rows, std::string_view feed_key, const std::string& follower) {
  const auto feed = TRY(read_feed(rows, feed_key));
  const auto* known = feed ? feed->find(follower) : nullptr;
  if (known == nullptr || (known->stale && !test_switches().hide_staleness.load(std::memory_order_relaxed))) {
    return false;
  }
  const auto cursor = rows.scan(notes_after(feed->feed, known->position));
  for (; cursor->valid(); cursor->next()) {
    const auto note = TRY(decode_note(cursor->value()));
    if (++waiting_ > most_ || note.kind == NoteKind::kDropped) return false;
    if (note.kind != NoteKind::kCreated) keys_.insert(encode_entity_key(note.partition_key, note.row_key));
  }
  TRY(cursor->status());
  return true;
}

bool Unsettled::may_contain(std::string_view partition_key, std::string_view row_key) const {
  if (!known_ || keys_.empty()) return !known_;
  return keys_.contains(encode_entity_key(partition_key, row_key));
}

Result<StoredEntity> StoredBlocks::take(const EntityView& entity, Version version, std::size_t coming) {
  if (!is_property_block(entity.block)) return corrupt_record("entity");
  const auto at = blocks_.size();
  if (selection_) {
    blocks_ += property_block(entity.to_entity(selection_).properties);
    return StoredEntity{version, at, blocks_.size() - at};
  }
  if (blocks_.capacity() < at + entity.block.size()) {
    blocks_.reserve(std::min(at + kMaxReplyBytes, at + coming * entity.block.size()) + entity.block.size());
  }
  blocks_ += entity.block;
  return StoredEntity{version, at, blocks_.size() - at};
}

}  // namespace tidemark::table_store
