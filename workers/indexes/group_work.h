// The changes to be made to the groups of lists: which keys must be in which group. They are in the order of the keys'
// hashes, so that a piece is gone through once. Pure.
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "indexes/rows/list_piece.h"
#include "workers/indexes/index_rows.h"

namespace tidemark::workers {

using indexes::GroupPlace;
using indexes::ListEntry;
using indexes::ListPiece;

/// A wish: whether a key must be in its group.
struct Wanted {
  ListEntry entry;
  bool present = false;
};

/// The changes of one group, in the order of their hashes.
struct GroupWork {
  GroupPlace place;
  std::string group;
  std::vector<Wanted> wanted = {};
  std::size_t next = 0;          // the first wish that is not fulfilled
  std::string search_from = {};  // the place behind a foreign row; empty: the hash of the next wish
  bool removes = false;          // some keys must leave the group
  /// Rows of pieces, in their order, that are to be joined with their neighbours. They come before the wishes.
  std::vector<std::string> visits = {};

  [[nodiscard]] bool done() const { return visits.empty() && next == wanted.size(); }
  void give_up() {
    visits.clear();
    next = wanted.size();
  }
  [[nodiscard]] table_store::RowSearch search() const {
    return {place.partition_key, from(), place.end(), place.row_key_bytes()};
  }
  /// Returns the search for a piece below the one that search() finds.
  [[nodiscard]] table_store::RowSearch search_below() const {
    return {place.partition_key, place.row_key(0), from(), place.row_key_bytes(), true, true};
  }

 private:
  [[nodiscard]] std::string from() const {
    if (!visits.empty()) return visits.front();
    return search_from.empty() ? place.row_key(wanted[next].entry.hash()) : search_from;
  }
};

/// Collects the wishes by group. The wish that an entity be in a group overrides the wish that it not be there.
class Works {
 public:
  /// Returns about how many bytes the wish occupies.
  std::size_t want(GroupPlace place, const std::string& group, ListEntry entry, bool present);
  std::vector<GroupWork> take();

 private:
  std::vector<GroupWork> works_;
  std::unordered_map<jobs::EntityKey, std::size_t, jobs::EntityKeyHash> places_;  // by partition and prefix of rows
};

/// Fulfils the wishes from `first` up to `last`, and returns the entities whose entries changed.
Wrong apply(ListPiece& piece, const std::vector<Wanted>& wanted, std::size_t first, std::size_t last);

}  // namespace tidemark::workers
