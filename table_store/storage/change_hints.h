// Where processes share the shards: whoever waits here for changes of a followed table hears of those that another
// process makes on its shards. A hint may be lost, so whoever waits also looks now and then. Private to storage/.
// Thread safe.
#pragma once
#include <map>
#include <utility>

#include "table_store/storage/change_waits.h"
#include "table_store/storage/table_shards.h"

namespace tidemark::table_store {

class ChangeHints {
 public:
  /// All must outlive it. Offers to tell other processes, if there are any.
  ChangeHints(const TableShards& shards, ChangeWaits& waits, Clock& clock);

  /// Asks the process that serves the shard to tell of the first change of this feed after this version. Those who wait
  /// for the feed are woken then. Nothing to do if that process is this one. Asks one thing at a time of each shard.
  void listen(const Executor& executor, std::size_t shard, std::uint64_t feed, Version after);

 private:
  using Place = std::pair<std::uint64_t, std::size_t>;  // the feed and the shard
  struct Question {
    Version after = 0;
    bool again = false;  // it has changed since it was asked
  };

  Task<void> go_on_asking(Place place);
  Version begin_to_ask(const Place& place);
  /// False: nobody has asked for more.
  bool is_asked_again(const Place& place);
  /// What another process asks: true once there is such a change, false if there was none for a while.
  Task<Result<bool>> await_change(std::size_t shard, std::uint64_t feed, Version after);

  const TableShards& shards_;
  ChangeWaits& waits_;
  Clock& clock_;
  Mutex mutex_;
  std::map<Place, Question> questions_ GUARDED_BY(mutex_);
};

}  // namespace tidemark::table_store
