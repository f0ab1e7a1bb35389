// What the readings of rows that list or copy entities have in common (model/listed.h). Private to storage/.
#pragma once
#include <unordered_set>

#include "table_store/model/entity_view.h"
#include "table_store/model/listed.h"
#include "table_store/storage/table_views.h"

namespace tidemark::table_store {

/// If more changes wait, reading the entities that are listed costs less than reading of the changes.
inline constexpr std::size_t kMostWaiting = 500;
/// Entities and rows that are read before others have their turn.
inline constexpr std::size_t kReadInASlice = 128;

/// Rows of one partition with the proof that they say what the logs say. All of one shard is seen at one moment. Of
/// several shards, the rows are seen before and after the logs: those that are the same have not changed in between, so
/// they are true of the moments at which the logs were seen. What is beside them is seen after the logs.
class ProvenRows {
 public:
  ProvenRows(const TableShards& shards, std::string_view account, std::string_view table, const RowSearch& search);

  /// The logs, and the entities that the rows list; look at all logs before you look at the rows.
  [[nodiscard]] const TableViews& logs() const { return logs_; }
  /// The rows and what is beside them.
  [[nodiscard]] const TableViews& rows() const { return shards_.divided() ? later_ : logs_; }
  /// Whether the row with this key had this record before, too.
  [[nodiscard]] Result<bool> unchanged(std::string_view key, std::string_view record) const;

 private:
  const TableShards& shards_;
  const std::size_t shard_;  // which has the rows
  const TableViews earlier_, logs_, later_;
};

/// Without rows if there is no such table.
Result<TableViews::Entities> entities_if_there(const TableViews& views, std::string_view account,
                                               std::string_view table);
Result<std::optional<Entity>> read_beside(const TableViews& views, std::string_view account, const ListedPlace& place);

/// The entities whose changes a follower has not dealt with.
class Unsettled {
 public:
  /// As the logs of all shards say. If more changes than `most` wait, nothing is known.
  static Result<Unsettled> of(const TableViews& logs, std::string_view feed_key, const std::string& follower,
                              std::size_t most);

  [[nodiscard]] bool may_contain(std::string_view partition_key, std::string_view row_key) const;
  /// Otherwise it may be any entity.
  [[nodiscard]] bool known() const { return known_; }
  /// Of the entities, as encode_entity_key() has them.
  [[nodiscard]] const std::unordered_set<std::string>& keys() const { return keys_; }

 private:
  /// Adds what one shard's log says; false if that is not known.
  Result<bool> add(const kv::Reader& rows, std::string_view feed_key, const std::string& follower);

  std::size_t most_ = 0;
  bool known_ = false;
  std::size_t waiting_ = 0;               // changes
  std::unordered_set<std::string> keys_;  // as they are stored
};

/// Blocks of entities, one behind the other as a page has them.
class StoredBlocks {
 public:
  StoredBlocks(std::string& blocks, const Selection& selection) : blocks_(blocks), selection_(selection) {}

  [[nodiscard]] std::size_t bytes() const { return blocks_.size(); }
  /// Adds what is selected of an entity, of this version of it. `coming`: how many may follow, this one included.
  Result<StoredEntity> take(const EntityView& entity, Version version, std::size_t coming);

 private:
  std::string& blocks_;
  const Selection& selection_;
};

}  // namespace tidemark::table_store
