// What is to become of the keys in the groups of lists: which are to be in which, in the order of their hashes, so that
// a piece is gone through once. Pure.
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

/// Whether a key is to be in its group.
struct Wanted {
  ListEntry entry;
  bool present = false;
};

/// The changes of one group, in the order of their hashes.
struct GroupWork {
  GroupPlace place;
  std::string group;
  std::vector<Wanted> wanted;
  std::size_t next = 0;     // the first that is not done
  std::string search_from;  // behind a foreign row; empty: at the hash of the next

  [[nodiscard]] bool done() const { return next == wanted.size(); }
  [[nodiscard]] table_store::RowSearch search() const {
    return {place.partition_key, search_from.empty() ? place.row_key(wanted[next].entry.hash()) : search_from,
            place.end(), place.row_key_bytes()};
  }
  /// For a piece before the one that search() is for.
  [[nodiscard]] table_store::RowSearch search_below() const {
    return {place.partition_key, place.row_key(0), search().from, place.row_key_bytes()};
  }
};

/// Collects what is wanted by group; that an entity is in a group counts more than that it was.
class Works {
 public:
  /// Returns how many bytes that takes up, about.
  std::size_t want(GroupPlace place, const std::string& group, ListEntry entry, bool present);
  std::vector<GroupWork> take();

 private:
  std::vector<GroupWork> works_;
  std::unordered_map<jobs::EntityKey, std::size_t, jobs::EntityKeyHash> places_;  // by partition and prefix of rows
};

/// Makes the changes from `first` to `last`, and says whose entries changed.
Wrong apply(ListPiece& piece, const std::vector<Wanted>& wanted, std::size_t first, std::size_t last);

}  // namespace tidemark::workers
