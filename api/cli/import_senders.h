// The connections over which an import sends its groups of entities, several at a time. Groups of one partition are
// sent one after another, in the order in which they were given, because a later one may have the same entity again.
#pragma once
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "api/cli/table_http.h"

namespace tidemark::cli {

class ImportSenders {
 public:
  /// Each sender has a connection of its own.
  static Result<std::unique_ptr<ImportSenders>> create(const GlobalOptions& options, std::string table);
  ~ImportSenders();

  /// Gives 1..100 entities of one partition to the sender of the partition; waits while that has enough to do. Returns
  /// the error of an earlier group if one could not be sent.
  Result<void> send(const std::string& partition, std::vector<WrittenEntity> group);
  /// Waits until everything has been sent.
  Result<void> finish();
  /// Returns the number of entities that have been sent.
  [[nodiscard]] std::size_t sent();

 private:
  struct Sender {
    explicit Sender(TableHttp connection) : tables(std::move(connection)) {}
    TableHttp tables;
    std::deque<std::vector<WrittenEntity>> waiting;
    bool busy = false;
    std::thread thread;
  };
  explicit ImportSenders(std::string table) : table_(std::move(table)) {}
  void run(Sender& sender);
  /// Returns the error once one was noted.
  [[nodiscard]] Result<void> outcome() const;

  std::string table_;
  std::vector<std::unique_ptr<Sender>> senders_;
  std::mutex mutex_;  // of everything below, and of the senders' queues
  std::condition_variable changed_;
  std::optional<Error> failed_;
  std::size_t sent_ = 0;
  bool ending_ = false;
};

}  // namespace tidemark::cli
