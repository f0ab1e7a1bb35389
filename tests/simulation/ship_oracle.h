// Knows the jobs that a rule makes of the entries in the audit table, and what became of them, from the commits of the
// table store, and checks once all is quiet:
//   R1  each entry has made one job, and nothing else has made one
//   W1  each job has the result of the delivery that has ended it
//   W2  the steps of an end were taken once; where an end had none, none were taken
//   W3  a worker that wrote before its end has the last word: later deliveries were fenced off, or their write is there
// One thread.
#pragma once
#include <map>
#include <string>

#include "jobs/store/job_record.h"
#include "tests/simulation/store_hosts.h"

namespace tidemark::simulation {

class ShipOracle {
 public:
  explicit ShipOracle(Scheduler& scheduler) : scheduler_(scheduler) {}

  void committed(const Committed& committed);
  /// Tells whether some entry has no job yet.
  [[nodiscard]] bool waits(const std::map<std::string, jobs::JobRecord>& jobs) const;
  void check_quiet(const std::map<std::string, jobs::JobRecord>& jobs);
  /// The jobs that the rule has made.
  [[nodiscard]] std::uint64_t made() const { return made_; }

 private:
  struct Row {
    std::int64_t epoch = 0, times = 0;
  };
  using Key = std::pair<std::string, std::string>;
  void entity_changed(const std::string& table, const RowChange& change);
  void check_job(const jobs::JobRecord& job, const std::string& entry);
  void violated(std::string text);

  Scheduler& scheduler_;
  std::map<std::uint64_t, std::string> tables_;  // by generation
  std::set<std::string> entries_;                // by RowKey
  std::map<Key, Row> ships_;                     // by part and entry
  std::map<std::string, Row> writes_;            // by entry
  std::uint64_t made_ = 0;
};

}  // namespace tidemark::simulation
