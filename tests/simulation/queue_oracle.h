// Knows the contents of the queue service, from its commits, and checks each of them:
//   Q1  only a call that ends a message removes it      Q2  it is in one queue, at one place
//   Q3  its epoch only rises, and only the live delivery changes it
//   Q6  a queue's counts are the sizes of its sets
// and that no message becomes poison twice, and that no message that leaves a shard is forgotten before it has arrived.
// One thread.
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
  /// Called for each message that leaves its shard, before it arrives at the other one.
  std::function<void()> on_departure = [] {};

  /// Called for each call, before it has any effect.
  void begun(const Cause& cause);
  void committed(std::size_t shard, const Committed& committed);
  /// The number of messages that came to another shard.
  [[nodiscard]] std::uint64_t carried() const { return carried_; }
  /// The number of messages that were at some time in a part of a spread queue.
  [[nodiscard]] std::uint64_t in_parts() const { return in_parts_.size(); }
  [[nodiscard]] std::uint64_t messages(const std::string& queue) const;
  /// Returns the ids of the messages of a queue.
  [[nodiscard]] std::set<std::string> ids(const std::string& queue) const;

 private:
  /// A shard with the key of a row, and with the generation of a queue, which changes when the queue is cleared.
  using Row = std::pair<std::size_t, std::string>;
  using Generation = std::pair<std::size_t, std::uint64_t>;
  struct Known {
    std::set<Row> places;  // the message's rows: in a queue, or on its way from one shard to another
    Generation generation;
    queue_service::MessageRecord record;
    std::uint64_t times_poison = 0;
  };
  struct Way {
    std::map<std::uint64_t, std::string> under_way;  // by number: the message's id, or empty if it is a new message
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
  /// Tells whether the generation is of this queue, or of one of its parts.
  [[nodiscard]] bool is_of(const std::string& queue, const Generation& generation) const;
  std::map<Generation, std::string> queues_;  // parts have the name of their queue
  std::map<Generation, queue_service::FiguresRecord> counts_;
  std::map<Row, std::string> by_row_;                        // the id of the message in each row of a queue
  std::map<std::string, Known> messages_;                    // by id
  std::map<std::pair<std::size_t, std::size_t>, Way> ways_;  // from shard, to shard
  // Messages of withdrawals: each takes a transaction on every shard, and only the first of these has the right cause.
  std::set<std::string> withdrawn_;
  std::uint64_t carried_ = 0;
  std::set<Generation> parts_;
  std::set<std::string> in_parts_;  // by id
};

}  // namespace tidemark::simulation
