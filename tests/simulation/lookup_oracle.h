// Checks the answers of lookups by an index, under any faults:
//   L1  a hit is an entity that matched at some moment between the question and the answer, as it was then
//   L2  entities that match, and have not changed since the version that the question asked for, are among the hits
//   L3  once all is quiet, the hits are exactly the entities that match
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "table_store/model/entity.h"
#include "tests/simulation/scheduler.h"
#include "tests/simulation/store_hosts.h"
#include "tests/simulation/table_oracle.h"

namespace tidemark::simulation {

class LookupOracle {
 public:
  using Key = std::pair<std::string, std::string>;

  struct Question {
    std::string index;
    std::int32_t group = 0;  // the property Group
    std::string partition;   // empty: any
    bool keys_only = false;
    Time asked{};                    // the answer sees every commit before this time
    table_store::Version known = 0;  // the index must have all changes up to this version; 0: it need not have any
  };
  struct Hit {
    Key key;
    table_store::Version version = 0;  // 0: only the keys were asked for
  };

  explicit LookupOracle(Scheduler& scheduler) : scheduler_(scheduler) {}

  [[nodiscard]] Time now() const { return scheduler_.now(); }
  [[nodiscard]] std::uint64_t judged() const { return judged_; }
  /// Called when an entity of the source was written; no row: it was removed.
  void changed(const Key& key, const std::optional<table_store::Entity>& row, table_store::Version version);
  void answered(const Question& question, const std::vector<Hit>& hits);
  /// Does the same as answered() when the source does not change any more, and checks L3.
  void answered_in_quiet(const Question& question, const std::vector<Hit>& hits);

 private:
  struct State {
    Time from{};
    table_store::Version version = 0;         // of the change
    std::optional<std::int32_t> group;        // nothing: the entity is absent, or has no group
    table_store::Version entity_version = 0;  // 0: the entity is absent
  };
  [[nodiscard]] static bool asks_for(const Question& question, const Key& key) {
    return question.partition.empty() || key.first == question.partition;
  }
  [[nodiscard]] bool right(const Question& question, const Hit& hit) const;
  void violated(const Question& question, const std::string& invariant, const std::string& what);

  Scheduler& scheduler_;
  std::map<Key, std::vector<State>> states_;
  std::uint64_t judged_ = 0;
};

}  // namespace tidemark::simulation
