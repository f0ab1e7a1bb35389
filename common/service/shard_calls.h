// The calls by which the api asks a store about its shards (common/rpc/call.h). Any process of a store answers for all
// shards: it reads the owners from the database, and asks the process that serves a shard for its load.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/time.h"

namespace tidemark::service {

/// A name that many transactions of a shard concern.
struct HotName {
  std::string account;
  std::string name;  // of the table, queue or container
  std::string part;  // a PartitionKey or a blob; empty for a queue
  double writes_per_s = 0;
};

/// The load of a shard, as the process that serves it reports it.
struct ShardLoad {
  std::uint64_t shard = 0;
  std::string process = {};
  std::int64_t epoch = 0;                   // 0: there is only one process, which needs no epochs
  std::optional<double> writes_per_s = {};  // transactions in the last seconds; nothing: it is too early to tell
  std::uint64_t waiting = 0;                // transactions
  Duration served_for{};
  std::optional<Duration> lease_left = {};  // of a shard that other processes could serve
  std::vector<HotName> hottest = {};
};

struct ShardPlace {
  std::string process = {};  // the process that serves it; empty: none at this moment, as far as is known
  std::int64_t epoch = 0;
  std::string wish = {};                               // the process that is to have it; empty: any
  std::optional<std::uint64_t> rows = {}, bytes = {};  // approximate
};

/// One of the processes that share the shards.
struct StoreProcess {
  std::string name, address;
  std::string trouble = {};  // why its loads are missing
};

struct StoreShards {
  bool shared = false;                       // several processes may serve the shards
  std::vector<StoreProcess> processes = {};  // the live ones; if shards are not shared, the only one
  std::vector<ShardPlace> places = {};       // of each shard
  std::vector<ShardLoad> loads = {};         // of the shards whose process answered
};

namespace calls {

struct ReadShards {
  static constexpr std::string_view kMethod = "shards.read";
  using Reply = StoreShards;
  std::string account;
};
/// Asks for the loads of the shards that the called process serves.
struct ReadOwnLoads {
  static constexpr std::string_view kMethod = "shards.read_own_loads";
  using Reply = std::vector<ShardLoad>;
  std::string account;
};
/// Assigns the shard to this process; empty: any process may take it. Written when this returns. kInvalidInput: there
/// is no such shard or process. kNotImplemented: the shards are not shared.
struct WishShard {
  static constexpr std::string_view kMethod = "shards.wish";
  using Reply = void;
  std::string account;
  std::uint64_t shard = 0;
  std::string process;
};

}  // namespace calls
}  // namespace tidemark::service
