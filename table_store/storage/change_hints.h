// Where processes share the shards, tells waiters in this process about changes of a followed table that another
// process makes on its shards. A hint may be lost, so waiters also look now and then. Private to storage/. Thread safe.
#pragma once
#include <map>
#include <utility>

#include "table_store/storage/change_waits.h"
#include "table_store/storage/table_shards.h"

namespace tidemark::table_store {

class ChangeHints {
 public:
  /// All arguments must outlive it.
  ChangeHints(const TableShards& shards, ChangeWaits& waits, Clock& clock)
      : shards_(shards), waits_(waits), clock_(clock) {}

  /// Asks the process that serves the shard to tell of the first change of this feed after this version, and wakes the
  /// waiters of the feed then. Does nothing if that process is this one. Asks each shard one question at a time.
  void listen(const Executor& executor, std::size_t shard, std::uint64_t feed, Version after);
  /// Answers another process: true once there is such a change, false if there was none for a while.
  Task<Result<bool>> await_change(std::size_t shard, std::uint64_t feed, Version after);

 private:
  using Place = std::pair<std::uint64_t, std::size_t>;  // the feed and the shard
  struct Question {
    Version after = 0;
    bool again = false;  // it has changed since the question was asked
  };

  Task<void> go_on_asking(Place place);
  Version begin_to_ask(const Place& place);
  /// Returns false if no more was asked for meanwhile.
  bool is_asked_again(const Place& place);
  const TableShards& shards_;
  ChangeWaits& waits_;
  Clock& clock_;
  Mutex mutex_;
  std::map<Place, Question> questions_ GUARDED_BY(mutex_);
};

}  // namespace tidemark::table_store
