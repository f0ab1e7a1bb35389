// Knows the source table and the rows of the simulation's indexes, from the table store's commits, and checks what is
// promised of indexes:
//   I1, I2  all entities that last changed up to an index's position have their rows, and no others
//   I3      the position only rises
//   I4      pieces are within their limit; together they have each key once
//   I5      nothing that was deleted comes back: covered by I2
//   I7      what an index keeps in entities of the user is what the entities that they refer to say, and nobody else's
//           property changes with it
//   I6      a summary is what the pieces beside it say, at every commit
//   I7      once an index job has ended and all is quiet, its table has what a scan gives
// and that no scrub ever finds anything wrong, because nobody but the owners writes rows. One thread.
#pragma once
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "table_store/model/entity.h"
#include "tests/simulation/store_hosts.h"

namespace tidemark::simulation {

class LookupOracle;

/// What the index of kind denormalised writes into; its entities refer to those of the source.
inline constexpr const char* kReferringTable = "Referring";
inline constexpr const char* kDenormalisedIndex = "told";
inline constexpr const char* kListsIndex = "by-group";
inline constexpr const char* kCopiesIndex = "by-number";
/// Its lists are in the partitions of their entities.
inline constexpr const char* kWithinIndex = "within";
/// The property Name of an entity of the source, by its Group: one is another, and what could be the end of a row's
/// key.
inline constexpr std::array<const char*, 3> kGroupNames{"New", "New_York", "New_ffffffffffffffff"};

/// The indexes of a run, by name: their definitions.
const std::map<std::string, std::string>& simulated_indexes();

class IndexOracle {
 public:
  using Key = std::pair<std::string, std::string>;
  using Row = table_store::Entity;

  IndexOracle(Scheduler& scheduler, LookupOracle& lookups, std::size_t shards)
      : scheduler_(scheduler), lookups_(lookups), divided_(shards > 1) {}

  void committed(const std::vector<RowChange>& changes);
  /// Which of these indexes is not ready, or has not dealt with every change.
  [[nodiscard]] std::string unsettled(const std::set<std::string>& names) const;
  /// Nothing is left of these indexes.
  [[nodiscard]] bool gone(const std::set<std::string>& names) const;
  void check_quiet(const std::set<std::string>& names);
  /// What the last index job has made of a source that is quiet.
  void check_job();

 private:
  struct Source {
    std::optional<Row> row;
    table_store::Version changed = 0;  // when it last changed or was removed
  };
  struct Known {
    std::string state;
    table_store::Version position = 0;
    bool lost = false;  // changes, since it was ready: only then it is said to be true again
  };
  /// What the rows say of each entity: places of copies, or groups.
  using Claims = std::map<Key, std::set<std::string>>;

  void row_changed(const std::string& table, const Key& key, std::optional<Row> now);
  void progress_changed(const std::string& id, const Row& now);
  void check_up_to(const std::string& name, table_store::Version position);
  /// What its rows say that is not so, of all that has not changed since this position.
  [[nodiscard]] std::vector<std::string> wrong_in(const std::string& name, table_store::Version position) const;
  [[nodiscard]] std::vector<std::string> wrong_in_told(table_store::Version position) const;
  void referring_changed(const Key& key, std::optional<Row> now, table_store::Version version);
  [[nodiscard]] table_store::Version last_change_of(const std::string& name) const;
  void check_summaries(const std::set<std::string>& groups);
  [[nodiscard]] Claims claims_of(const std::string& name) const;
  [[nodiscard]] std::string claim_of(const std::string& name, const Row& source) const;
  void violated(std::string text);

  Scheduler& scheduler_;
  LookupOracle& lookups_;
  const bool divided_;                           // the table store
  std::map<std::uint64_t, std::string> tables_;  // by generation
  std::map<Key, Source> source_;
  std::map<std::string, std::map<Key, Row>> rows_;  // by table
  std::map<std::string, Known> known_;              // by index id
  table_store::Version last_change_ = 0;            // of the source
  std::map<Key, Source> referring_;
  table_store::Version last_referring_change_ = 0;
};

}  // namespace tidemark::simulation
