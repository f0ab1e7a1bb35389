// Reports on a store's shards: who serves them, how big they are, and how busy. Collects the counts for that as long as
// the store runs, and answers the calls of shard_calls.h. Thread safe.
#pragma once
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "common/base/mutex.h"
#include "common/kv/stored_size.h"
#include "common/postgres/shard_owners.h"
#include "common/rpc/transport.h"
#include "common/service/shard_calls.h"
#include "common/shards/hot_names.h"
#include "common/shards/shard_router.h"
#include "common/shards/stored_shards.h"

namespace tidemark::service {

/// The counts that the engines of the shards give.
struct ShardCounts {
  using Sizes = Result<std::vector<std::optional<kv::StoredSize>>>;
  /// Returns, for each shard, how many transactions there were since it was opened here; 0: it is not here.
  std::function<std::vector<std::uint64_t>()> transactions = {};
  /// Returns the approximate size of each shard. May wait for a database.
  std::function<Sizes()> sizes = {};
};

class ShardWatch {
 public:
  /// All arguments must outlive it. `process`: the name of this one; `owners` and `router`: null if all shards are
  /// here.
  ShardWatch(const shards::StoredShards& shards, std::string process, const kv::ShardOwners* owners,
             shards::ShardRouter* router, ShardCounts counts, Clock& clock);

  /// Returns the names of a shard, in which the store notes its writes.
  [[nodiscard]] shards::HotNames& hot(std::size_t shard) { return hot_[shard]; }
  /// Notes the transaction counts until `stopping` is notified.
  Task<void> run(std::shared_ptr<Signal> stopping);

  Task<Result<StoreShards>> read();
  [[nodiscard]] Result<std::vector<ShardLoad>> own_loads();
  Task<Result<void>> wish(std::uint64_t shard, std::string process);
  /// Answers the calls of shard_calls.h, and passes all others to `store`. Must not outlive this.
  rpc::Dispatch beside(rpc::Dispatch store);

 private:
  struct Sample {
    Duration at;
    std::uint64_t transactions;
  };

  void sample();
  [[nodiscard]] std::optional<double> rate_of(std::size_t shard);
  [[nodiscard]] ShardLoad load_of(std::size_t shard);
  bool is_time_for_sizes();
  void add_sizes(StoreShards& shards);
  Task<void> add_others(StoreShards& shards);

  const shards::StoredShards& shards_;
  const std::string process_;
  const kv::ShardOwners* const owners_;
  shards::ShardRouter* const router_;
  const ShardCounts counts_;
  Clock& clock_;
  const Duration began_ = clock_.monotonic();
  std::deque<shards::HotNames> hot_;
  Mutex mutex_;
  std::vector<std::deque<Sample>> samples_ GUARDED_BY(mutex_);  // of each shard, the oldest first
  std::vector<std::optional<kv::StoredSize>> known_sizes_ GUARDED_BY(mutex_);
  std::optional<Duration> sizes_at_ GUARDED_BY(mutex_);
};

}  // namespace tidemark::service
