// Knows what the queue service holds, from its commits, and checks each of them:
//   Q1  a message goes only by a call that ends it      Q2  it is in one queue, at one place
//   Q3  its epoch only rises, and only the live delivery changes it
//   Q6  a queue's counts are the sizes of its sets
// that no message becomes poison twice, and that none which leaves a shard is forgotten before it has arrived. One
// thread.
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
  /// Called for each message that leaves its shard, before it is somewhere else.
  std::function<void()> on_departure = [] {};

  /// A call comes, and may do something.
  void begun(const Cause& cause);
  void committed(std::size_t shard, const Committed& committed);
  /// That came to another shard.
  [[nodiscard]] std::uint64_t carried() const { return carried_; }
  /// That were somewhere in a part of a spread queue.
  [[nodiscard]] std::uint64_t in_parts() const { return in_parts_.size(); }
  [[nodiscard]] std::uint64_t messages(const std::string& queue) const;
  /// Ids of the messages of a queue.
  [[nodiscard]] std::set<std::string> ids(const std::string& queue) const;

 private:
  /// A key, and a queue since it was made or cleared: each shard has its own.
  using Row = std::pair<std::size_t, std::string>;
  using Generation = std::pair<std::size_t, std::uint64_t>;
  struct Known {
    std::set<Row> places;  // where it is: in a queue, or on its way from one shard to another
    Generation generation;
    queue_service::MessageRecord record;
    std::uint64_t times_poison = 0;
  };
  struct Way {
    std::map<std::uint64_t, std::string> under_way;  // by number: the message's id, or nothing if it is a new one
    std::uint64_t arrived = 0;
  };
  void check_lease(const Cause& cause, const std::set<std::string>& touched);
  [[nodiscard]] std::set<std::string> messages_in(std::size_t shard, const std::vector<RowChange>& changes) const;
  void check_figures();
  void check_touched(const Cause& cause, const std::set<std::string>& touched);
  void message_row(std::size_t shard, const RowChange& change, std::set<std::string>& touched);
  void put_row(Row row, Generation generation, queue_service::MessageRecord record, std::set<std::string>& touched);
  void departed(std::size_t shard, const RowChange& change, std::set<std::string>& touched);
  void arrived(std::size_t shard, const RowChange& change, std::set<std::string>& touched);
  void violated(std::string text);

  Scheduler& scheduler_;
  /// Whether it is of this queue, or of one of its parts.
  [[nodiscard]] bool is_of(const std::string& queue, const Generation& generation) const;
  std::map<Generation, std::string> queues_;  // parts have the name of their queue
  std::map<Generation, queue_service::FiguresRecord> counts_;
  std::map<Row, std::string> by_row_;                        // of a queue -> message id
  std::map<std::string, Known> messages_;                    // by id
  std::map<std::pair<std::size_t, std::size_t>, Way> ways_;  // from shard, to shard
  // Messages that somebody withdraws: that takes a transaction for each shard, of which the first alone has its cause.
  std::set<std::string> withdrawn_;
  std::uint64_t carried_ = 0;
  std::set<Generation> parts_;
  std::set<std::string> in_parts_;  // by id
};

}  // namespace tidemark::simulation
