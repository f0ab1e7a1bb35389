// The calls by which the api asks a store about its shards (common/rpc/call.h). Any process of a store answers for all:
// who has which shard stands in the database, and what only the one that serves a shard can tell, it is asked for.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/time.h"

namespace tidemark::service {

/// What many transactions of a shard are about.
struct HotName {
  std::string account;
  std::string name;  // of the table, queue or container
  std::string part;  // a PartitionKey or a blob; empty: a queue
  double writes_per_s = 0;
};

/// As the process tells that serves the shard.
struct ShardLoad {
  std::uint64_t shard = 0;
  std::string process = {};
  std::int64_t epoch = 0;                   // 0: there is only one process, which has no need of epochs
  std::optional<double> writes_per_s = {};  // transactions in the last seconds; nothing: it is too early to tell
  std::uint64_t waiting = 0;                // transactions
  Duration served_for{};
  std::optional<Duration> lease_left = {};  // of one that others could serve
  std::vector<HotName> hottest = {};
};

struct ShardPlace {
  std::string process = {};  // that serves it; empty: nobody at this moment, as far as is known
  std::int64_t epoch = 0;
  std::string wish = {};                               // the process that is to have it; empty: any
  std::optional<std::uint64_t> rows = {}, bytes = {};  // about
};

/// One of those that share the shards.
struct StoreProcess {
  std::string name, address;
  std::string trouble = {};  // why its loads are missing
};

struct StoreShards {
  bool shared = false;                       // several processes may serve them
  std::vector<StoreProcess> processes = {};  // that live; of shards that are not shared, the only one
  std::vector<ShardPlace> places = {};       // of each shard
  std::vector<ShardLoad> loads = {};         // of those whose process answered
};

namespace calls {

struct ReadShards {
  static constexpr std::string_view kMethod = "shards.read";
  using Reply = StoreShards;
  std::string account;
};
/// Of the shards that the process serves which is asked.
struct ReadOwnLoads {
  static constexpr std::string_view kMethod = "shards.read_own_loads";
  using Reply = std::vector<ShardLoad>;
  std::string account;
};
/// The shard is to be this process's; empty: whoever takes it. Written when this returns. kInvalidInput: there is no
/// such shard or process. kNotImplemented: the shards are not shared.
struct WishShard {
  static constexpr std::string_view kMethod = "shards.wish";
  using Reply = void;
  std::string account;
  std::uint64_t shard = 0;
  std::string process;
};

}  // namespace calls
}  // namespace tidemark::service
