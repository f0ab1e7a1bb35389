// For the kind `denormalised`: the changed entities that others refer to, and whose referring entities must still be
// visited. However many those are, they are visited page by page, and an owner that takes the index over goes on where
// its predecessor was. An entity that changes during its visits is visited once more afterwards. Pure.
#pragma once
#include <deque>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "table_store/model/changes.h"
#include "workers/indexes/index_rows.h"

namespace tidemark::workers {

/// Tells whether a change may matter to the entities that refer to this one and depend on these of its properties. An
/// entity that was created or erased always may. Each earlier state is compared, because any of them may have been
/// seen.
bool concerns_others(const ChangedEntity& changed, const std::vector<std::string>& taken);

class Visits {
 public:
  /// Adds the changed entities that concern others (`taken`) and have changed after the position `since`.
  void add(const std::vector<ChangedEntity>& changed, const std::vector<std::string>& taken,
           const table_store::Position& since);
  void clear() { waiting_.clear(); }
  [[nodiscard]] bool empty() const { return waiting_.empty(); }
  /// Tells that no more can be added.
  [[nodiscard]] bool full() const;
  [[nodiscard]] bool waits_for(const jobs::EntityKey& referred) const;
  /// Returns the position up to which all visits are finished, if the changes up to `position` were added.
  [[nodiscard]] table_store::Position reached(table_store::Position position) const;

  /// Returns the next visits; report with done() how far they came.
  [[nodiscard]] std::vector<Referrers::Visit> next() const;
  void done(std::vector<Referrers::Visit> visits);

  /// The visits as text, with the position up to which changes were added; short enough for a property.
  [[nodiscard]] std::string text(const table_store::Position& position) const;
  /// Reads text(), and returns its position; an empty position if there is none.
  table_store::Position read(const std::string& text);

 private:
  struct Waiting {
    jobs::EntityKey referred;
    std::string at;
    table_store::Position since = {};
    table_store::Position again = {};  // it changed after this position while its visits ran; empty if it did not
  };
  std::deque<Waiting> waiting_;
};

}  // namespace tidemark::workers
