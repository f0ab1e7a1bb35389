// The entities whose rows a page of a walk found wrong. The page was read after the position in the log, so the rows
// may only be late. If the log is read to its end and does not name an entity, its rows were really wrong. Pure.
#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "workers/indexes/visits.h"

namespace tidemark::workers {

class Suspects {
 public:
  /// Adds the entities, without those that are still to be visited, which are only late.
  void add(const Wrong& wrong, const Visits& visits);
  /// Says which entities a page of a log names: those that have rows, those that others refer to, or both.
  struct Named {
    bool have_rows = false, are_referred = false;
  };
  /// Removes the entities that the page names, or whose referred entities it names.
  void acquit(const table_store::ChangesPage& page, Named named, const std::vector<std::string>& taken);
  [[nodiscard]] bool empty() const { return suspects_.empty(); }
  /// Removes all and returns them.
  [[nodiscard]] Wrong take();

 private:
  std::map<std::pair<std::string, std::string>, WrongEntity> suspects_;
};

}  // namespace tidemark::workers
