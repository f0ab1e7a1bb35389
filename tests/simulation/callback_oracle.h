// Knows what the endpoint was sent, and checks it against the ends of jobs and groups:
//   E1  an end is told by exactly one callback job: one webhook-id, always with the same body
//   E2  what is told is so: the job has ended, and in that state; all members of the group have, and in those states
//   E3  nothing is given up or forgotten: every end that is to be told is, and a callback job that succeeded was taken
// One thread.
#pragma once
#include <map>
#include <set>
#include <string>

#include "tests/simulation/table_oracle.h"

namespace tidemark::simulation {

class CallbackOracle {
 public:
  CallbackOracle(Scheduler& scheduler, const TableOracle& tables) : scheduler_(scheduler), tables_(tables) {}
  /// A request has reached the endpoint, and what that will say to it.
  void arrived(const std::string& webhook_id, const std::string& body);
  void answered(const std::string& webhook_id, unsigned status);
  /// Everything at rest. `groups`: that were submitted to be told of.
  void check_quiet(const std::set<std::string>& groups);
  [[nodiscard]] std::uint64_t deliveries() const { return deliveries_; }

 private:
  struct Told {
    std::string body;
    bool taken = false;
    bool refused = false;
  };
  void check_job_told(const std::string& webhook_id, const std::string& job_id, const std::string& state);
  void check_group_told(const std::string& group, const std::map<std::string, std::uint64_t>& states);
  void check_callback(const jobs::JobRecord& callback);
  void violated(std::string text) { scheduler_.trace().violation(scheduler_.now(), std::move(text)); }

  Scheduler& scheduler_;
  const TableOracle& tables_;
  std::map<std::string, Told> told_;  // by webhook-id
  std::uint64_t deliveries_ = 0;
};

}  // namespace tidemark::simulation
