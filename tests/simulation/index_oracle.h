// Knows the source table and the rows of the simulation's indexes, from the table store's commits, and checks the
// promises of indexes:
//   I1, I2  all entities that last changed up to an index's position have their rows, and no others
//   I3      the position only rises
//   I4      pieces are within their limit; together they have each key once
//   I5      no deleted entity comes back: covered by I2
//   I6      a summary agrees with the pieces beside it, at every commit
//   I7      the properties that an index keeps in entities of the user agree with the entities that these refer to, and
//           no other property changes with them
//   I7      once an index job has ended and all is quiet, its table holds the result of a scan
// and that no scrub ever finds anything wrong, because only the owners write rows. One thread.
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

/// The table that the index of kind denormalised writes into; its entities refer to those of the source.
inline constexpr const char* kReferringTable = "Referring";
inline constexpr const char* kDenormalisedIndex = "told";
inline constexpr const char* kListsIndex = "by-group";
inline constexpr const char* kCopiesIndex = "by-number";
/// Its lists are in the partitions of their entities.
inline constexpr const char* kWithinIndex = "within";
/// The property Name of an entity of the source, by its Group: one name begins with another, and goes on like the end
/// of a row's key.
inline constexpr std::array<const char*, 3> kGroupNames{"New", "New_York", "New_ffffffffffffffff"};

/// The definitions of the indexes of a run, by name.
const std::map<std::string, std::string>& simulated_indexes();

class IndexOracle {
 public:
  using Key = std::pair<std::string, std::string>;
  using Row = table_store::Entity;

  IndexOracle(Scheduler& scheduler, LookupOracle& lookups, std::size_t shards)
      : scheduler_(scheduler), lookups_(lookups), divided_(shards > 1) {}

  void committed(const std::vector<RowChange>& changes);
  /// Tells of one of these indexes that is not ready, or has not dealt with every change; empty: there is none.
  [[nodiscard]] std::string unsettled(const std::set<std::string>& names) const;
  /// Tells whether nothing is left of these indexes.
  [[nodiscard]] bool gone(const std::set<std::string>& names) const;
  void check_quiet(const std::set<std::string>& names);
  /// Checks the table that the last index job has made from a source that does not change any more.
  void check_job();

 private:
  struct Source {
    std::optional<Row> row;
    table_store::Version changed = 0;  // when it last changed or was removed
  };
  struct Known {
    std::string state;
    table_store::Version position = 0;
    bool lost = false;  // it has lost changes since it was last ready, so its rows are not checked until it is ready
  };
  /// The statements of the rows about each entity: the places of its copies, or its groups.
  using Claims = std::map<Key, std::set<std::string>>;

  void row_changed(const std::string& table, const Key& key, std::optional<Row> now);
  void progress_changed(const std::string& id, const Row& now);
  void check_up_to(const std::string& name, table_store::Version position);
  /// Returns the faults in the rows of entities that have not changed since this position.
  [[nodiscard]] std::vector<std::string> wrong_in(const std::string& name, table_store::Version position) const;
  [[nodiscard]] std::vector<std::string> wrong_in_told(table_store::Version position) const;
  void referring_changed(const Key& key, std::optional<Row> now, table_store::Version version);
  [[nodiscard]] table_store::Version last_change_of(const std::string& name) const;
  [[nodiscard]] bool is_being_dropped(const std::string& name) const;
  void check_summaries(const std::set<std::string>& groups);
  [[nodiscard]] Claims claims_of(const std::string& name) const;
  [[nodiscard]] std::string claim_of(const std::string& name, const Row& source) const;
  void violated(std::string text);

  Scheduler& scheduler_;
  LookupOracle& lookups_;
  const bool divided_;                           // the table store has several shards
  std::map<std::uint64_t, std::string> tables_;  // by generation
  std::map<Key, Source> source_;
  std::map<std::string, std::map<Key, Row>> rows_;  // by table
  std::map<std::string, Known> known_;              // by index id
  table_store::Version last_change_ = 0;            // of the source
  std::map<Key, Source> referring_;
  table_store::Version last_referring_change_ = 0;
};

}  // namespace tidemark::simulation
