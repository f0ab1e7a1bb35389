// Knows what the queue service holds, from its commits, and checks each of them:
//   Q1  a message goes only by a call that ends it      Q2  it is in one queue, at one place
//   Q3  its epoch only rises, and only the live delivery changes it
//   Q6  a queue's counts are the sizes of its sets
// and that no message becomes poison twice. One thread.
#pragma once
#include <map>
#include <set>
#include <string>

#include "queue_service/storage/queue_records.h"
#include "tests/simulation/store_hosts.h"

namespace tidemark::simulation {

class QueueOracle {
 public:
  explicit QueueOracle(Scheduler& scheduler) : scheduler_(scheduler) {}
  void committed(const std::vector<RowChange>& changes, const Cause& cause);
  [[nodiscard]] std::uint64_t messages(const std::string& queue) const;
  /// Ids of the messages of a queue.
  [[nodiscard]] std::set<std::string> ids(const std::string& queue) const;

 private:
  struct Known {
    std::set<std::string> places;  // keys of its rows
    std::uint64_t generation = 0;
    queue_service::MessageRecord record;
    std::uint64_t times_poison = 0;
  };
  void check_lease(const Cause& cause, const std::set<std::string>& touched);
  [[nodiscard]] std::set<std::string> messages_in(const std::vector<RowChange>& changes) const;
  void check_figures();
  void put_row(const RowChange& change, std::set<std::string>& touched);
  void violated(std::string text);

  Scheduler& scheduler_;
  std::map<std::string, std::uint64_t> generations_;              // by queue
  std::map<std::uint64_t, queue_service::FiguresRecord> counts_;  // by generation
  std::map<std::string, std::string> by_row_;                     // row key -> message id
  std::map<std::string, Known> messages_;                         // by id
};

}  // namespace tidemark::simulation
