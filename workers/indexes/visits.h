// Of the kind `denormalised`: which entities that others refer to have changed, so that all that refer to them have yet
// to be visited. However many those are, they are visited by pages, and whoever takes the index over goes on where the
// owner was. An entity that changes while it has its visits has them once more afterwards. Pure.
#pragma once
#include <deque>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "table_store/model/changes.h"
#include "workers/indexes/index_rows.h"

namespace tidemark::workers {

/// Whether a change may make a difference to those that refer to the entity, which depend on these of its properties.
/// An entity that came or went always may. Each state that it was in is compared: any may have been seen.
bool concerns_others(const ChangedEntity& changed, const std::vector<std::string>& taken);

class Visits {
 public:
  /// Those of these that concern others (`taken`) have changed after the position `since`.
  void add(const std::vector<ChangedEntity>& changed, const std::vector<std::string>& taken,
           const table_store::Position& since);
  void clear() { waiting_.clear(); }
  [[nodiscard]] bool empty() const { return waiting_.empty(); }
  /// Too many to take more.
  [[nodiscard]] bool full() const;
  [[nodiscard]] bool waits_for(const jobs::EntityKey& referred) const;
  /// The position up to which everybody has been visited, if the changes up to `position` were added.
  [[nodiscard]] table_store::Position reached(table_store::Position position) const;

  /// The next ones; tell with done() how far they came.
  [[nodiscard]] std::vector<Referrers::Visit> next() const;
  void done(std::vector<Referrers::Visit> visits);

  /// With the position up to which changes were added; shorter than a property may be.
  [[nodiscard]] std::string text(const table_store::Position& position) const;
  /// Reads text(), and returns the position; none if there is none.
  table_store::Position read(const std::string& text);

 private:
  struct Waiting {
    jobs::EntityKey referred;
    std::string at;
    table_store::Position since = {};
    table_store::Position again = {};  // it changed after this position, since its visits began; none: it did not
  };
  std::deque<Waiting> waiting_;
};

}  // namespace tidemark::workers
