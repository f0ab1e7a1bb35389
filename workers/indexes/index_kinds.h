// The kinds of index, and what they share. Private to this folder.
#pragma once
#include "workers/indexes/index_rows.h"

namespace tidemark::workers {

/// Which entities have rows at all.
class SourceFilter {
 public:
  explicit SourceFilter(table_store::Filter filter) : filter_(std::move(filter)) {}
  [[nodiscard]] bool admits(const Entity& entity) const { return filter_.matches_all() || filter_.matches(entity); }

 private:
  table_store::Filter filter_;
};

/// The states that the entity was in before its changes, as far as they are known: with the followed properties.
std::vector<Entity> states_before(const ChangedEntity& changed);

inline void add(Wrong more, Wrong& to) {
  to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

Result<std::unique_ptr<IndexRows>> make_copy_rows(IndexRowsContext context, SourceFilter filter);
/// Of the kinds lists and summary.
Result<std::unique_ptr<IndexRows>> make_list_rows(IndexRowsContext context, SourceFilter filter);

}  // namespace tidemark::workers
