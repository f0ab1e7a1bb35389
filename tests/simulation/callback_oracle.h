// Knows the requests that the endpoint received, and checks them against the ends of jobs and groups:
//   E1  exactly one callback job tells of an end: one webhook-id, always with the same body
//   E2  callbacks are true: the job has ended in the state they tell, or all members of the group in those states
//   E3  nothing is given up or forgotten: every end that is to be told is told, and for each callback job that
//       succeeded the endpoint accepted a request
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
  /// Called when a request has reached the endpoint, and when the endpoint has decided on its answer.
  void arrived(const std::string& webhook_id, const std::string& body);
  void answered(const std::string& webhook_id, unsigned status);
  /// Checks the end of a run, when everything is at rest. `groups`: the submitted groups whose ends are to be told.
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
