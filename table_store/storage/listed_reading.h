// The common parts of reading rows that list or copy entities (model/listed.h). Private to storage/.
#pragma once
#include <unordered_set>

#include "table_store/model/entity_view.h"
#include "table_store/model/listed.h"
#include "table_store/storage/table_views.h"

namespace tidemark::table_store {

/// If more changes wait, reading the listed entities costs less than reading the changes.
inline constexpr std::size_t kMostWaiting = 500;
/// Entities and rows that are read before the thread is given away.
inline constexpr std::size_t kReadInASlice = 128;

/// Rows of one partition with the proof that they fit the logs. A single shard is read at one moment. With several
/// shards, the rows are read before and after the logs: rows that are the same have not changed in between, so they are
/// true of the moments at which the logs were read. The rows beside them are read after the logs.
class ProvenRows {
 public:
  ProvenRows(const TableShards& shards, std::string_view account, std::string_view table, const RowSearch& search);

  /// Returns the view of the logs, and of the entities that the rows list; look at all logs before you look at the
  /// rows.
  [[nodiscard]] const TableViews& logs() const { return logs_; }
  /// Returns the view of the rows and of the ones beside them.
  [[nodiscard]] const TableViews& rows() const { return shards_.divided() ? later_ : logs_; }
  /// Tells whether the row with this key had this record before, too.
  [[nodiscard]] Result<bool> unchanged(std::string_view key, std::string_view record) const;

 private:
  const TableShards& shards_;
  const std::size_t shard_;  // which has the rows
  const TableViews earlier_, logs_, later_;
};

/// Returns no rows if there is no such table.
Result<TableViews::Entities> entities_if_there(const TableViews& views, std::string_view account,
                                               std::string_view table);
Result<std::optional<Entity>> read_beside(const TableViews& views, std::string_view account, const ListedPlace& place);

/// The entities with changes that a follower has not processed.
class Unsettled {
 public:
  /// Reads them from the logs of all shards. If more changes than `most` wait, they are unknown.
  static Result<Unsettled> of(const TableViews& logs, std::string_view feed_key, const std::string& follower,
                              std::size_t most);

  [[nodiscard]] bool may_contain(std::string_view partition_key, std::string_view row_key) const;
  /// False: any entity may be unsettled.
  [[nodiscard]] bool known() const { return known_; }
  /// Returns the entities in the encoding of encode_entity_key().
  [[nodiscard]] const std::unordered_set<std::string>& keys() const { return keys_; }

 private:
  /// Adds the changes in one shard's log; returns false if they are unknown.
  Result<bool> add(const kv::Reader& rows, std::string_view feed_key, const std::string& follower);

  std::size_t most_ = 0;
  bool known_ = false;
  std::size_t waiting_ = 0;               // changes
  std::unordered_set<std::string> keys_;  // in their stored encoding
};

/// The blocks of entities, one after the other, as in a page.
class StoredBlocks {
 public:
  StoredBlocks(std::string& blocks, const Selection& selection) : blocks_(blocks), selection_(selection) {}

  [[nodiscard]] std::size_t bytes() const { return blocks_.size(); }
  /// Adds the selected properties of an entity, with this version. `coming`: how many may follow, this one included.
  Result<StoredEntity> take(const EntityView& entity, Version version, std::size_t coming);

 private:
  std::string& blocks_;
  const Selection& selection_;
};

}  // namespace tidemark::table_store
