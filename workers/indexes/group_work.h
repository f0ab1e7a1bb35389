// What is to become of the keys in the groups of lists: which are to be in which, in the order of their hashes, so that
// a piece is gone through once. Pure.
#pragma once
#include <map>
#include <string>
#include <utility>
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
            place.end()};
  }
};

/// Collects what is wanted by group; that an entity is in a group counts more than that it was.
class Works {
 public:
  void want(GroupPlace place, const std::string& group, ListEntry entry, bool present) {
    auto& work = works_[{place.partition_key, place.row_prefix}];
    work.place = std::move(place);
    work.group = group;
    auto& wanted = work.wanted[{entry.partition_key, entry.row_key}];
    if (wanted.present && !present) return;
    wanted = {std::move(entry), present};
  }
  std::vector<GroupWork> take() {
    std::vector<GroupWork> out;
    for (auto& [key, work] : works_) {
      auto& group = out.emplace_back(GroupWork{std::move(work.place), std::move(work.group), {}, 0, {}});
      for (auto& [entity, wanted] : work.wanted) group.wanted.push_back(std::move(wanted));
      std::ranges::sort(group.wanted, {}, [](const Wanted& wanted) { return wanted.entry.hash(); });
    }
    works_.clear();
    return out;
  }

 private:
  struct Work {
    GroupPlace place;
    std::string group;
    std::map<std::pair<std::string, std::string>, Wanted> wanted;
  };
  std::map<std::pair<std::string, std::string>, Work> works_;
};

/// Makes the changes from `first` to `last`, and says whose entries changed.
Wrong apply(ListPiece& piece, const std::vector<Wanted>& wanted, std::size_t first, std::size_t last);

}  // namespace tidemark::workers
