// The kinds of index, and the parts that they share. Private to this folder.
#pragma once
#include <functional>

#include "indexes/rows/list_piece.h"
#include "workers/indexes/index_rows.h"

namespace tidemark::workers {

/// Decides which entities have rows at all.
class SourceFilter {
 public:
  explicit SourceFilter(table_store::Filter filter) : filter_(std::move(filter)) {}
  [[nodiscard]] bool admits(const Entity& entity) const { return filter_.matches_all() || filter_.matches(entity); }

 private:
  table_store::Filter filter_;
};

/// The states of the entity before its changes, as far as they are known, with the followed properties.
std::vector<Entity> states_before(const ChangedEntity& changed);

inline void add(Wrong more, Wrong& to) {
  to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

Result<std::unique_ptr<IndexRows>> make_copy_rows(IndexRowsContext context, SourceFilter filter);
/// For the kinds lists and summary.
Result<std::unique_ptr<IndexRows>> make_list_rows(IndexRowsContext context, SourceFilter filter);
Result<std::unique_ptr<IndexRows>> make_denormal_rows(IndexRowsContext context, SourceFilter filter);

class BlobPieces;

/// Describes the lists of an index: their contents and their place.
struct Listing {
  std::string table;                                                  // the table of the lists
  std::function<std::optional<std::string>(const Entity&)> group_of;  // returns nothing if the entity is in no list
  std::function<indexes::GroupPlace(const std::string& group, const std::string& partition_key)> place_of;
  bool in_partition = false;  // each group belongs to one partition
  bool unique = false;        // violations are noted
  bool tells = false;         // and new violations are announced
  bool sums = false;
  std::string sum_of = {};
  indexes::PieceForm form = indexes::kListForm;
  bool of_job = false;
  std::string row_filter = {};                  // selects the rows of the table that belong to the lists; empty: all
  std::shared_ptr<BlobPieces> blobs = nullptr;  // holds the keys; null if they are in the rows
};
std::unique_ptr<IndexRows> make_listing(IndexRowsContext context, Listing listing);

}  // namespace tidemark::workers
