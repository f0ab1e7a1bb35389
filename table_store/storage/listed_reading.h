// What the readings of rows that list or copy entities have in common (model/listed.h). Private to storage/.
#pragma once
#include <unordered_set>

#include "table_store/model/entity_view.h"
#include "table_store/model/listed.h"
#include "table_store/storage/table_views.h"

namespace tidemark::table_store {

/// Without rows if there is no such table.
Result<TableViews::Entities> entities_if_there(const TableViews& views, std::string_view account,
                                               std::string_view table);
Result<std::optional<Entity>> read_beside(const TableViews& views, std::string_view account, const ListedPlace& place);

/// The entities whose changes a follower has not dealt with.
class Unsettled {
 public:
  static Result<Unsettled> of(const TableViews& views, std::string_view feed_key, const std::string& follower);

  [[nodiscard]] bool may_contain(std::string_view partition_key, std::string_view row_key) const;

 private:
  bool known_ = false;
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
