// Plans how to relieve the busy shards of a store: moves of shards between the processes that share them, and hot
// partitions, which only the clients that name them can spread. Pure.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/service/shard_calls.h"

namespace tidemark::api {

/// The known facts about one shard.
struct PlannedShard {
  std::size_t number = 0;
  std::string process = {};  // that serves it; empty: none
  std::optional<double> writes_per_s = {};
  std::vector<service::HotName> hottest = {};
};

struct SplitPlan {
  struct Part {
    service::HotName name;
    double of_shard = 0;            // its share of the shard's transactions, 0 to 1
    bool too_hot = false;           // alone more than a shard can carry, on any shard
    std::uint64_t spread_over = 0;  // with this many partitions, each would take at most half of a shard's capacity
  };
  struct HotShard {
    std::size_t number = 0;
    std::string process;
    double writes_per_s = 0;
    std::vector<Part> parts;  // the names with a large share of it
    double without_parts = 0;
  };
  struct Move {
    std::size_t shard = 0;
    std::string from, to;
    double writes_per_s = 0;
  };
  /// The change for the shard or process with the greatest load.
  struct Change {
    double before = 0, after = 0;
  };

  double carries = 0;                    // transactions a second that a shard can carry
  bool complete = true;                  // the load of every shard is known
  std::vector<HotShard> hot = {};        // the hottest first
  std::vector<Move> moves = {};          // in this order
  Change busiest_process = {};           // after the moves
  Change hottest_shard = {};             // after spreading all these parts evenly over all shards
  std::vector<std::string> advice = {};  // for people
};

/// The default of `carries`; see docs/scale.md.
inline constexpr double kShardCarries = 10'000;
inline constexpr std::size_t kMostMoves = 16;

/// `store`: "table". `processes`: the live processes that share the shards; with one or none, nothing can be moved.
SplitPlan plan_split(std::string_view store, const std::vector<PlannedShard>& shards,
                     const std::vector<std::string>& processes, double carries = kShardCarries);

/// Converts the report of a store, one entry for each shard: if two processes report a shard, the one that claimed it
/// last counts.
std::vector<PlannedShard> planned_shards(const service::StoreShards& told);
/// Returns the report of a shard as ShardLoad; null if no process reported it.
const service::ShardLoad* load_of(const service::StoreShards& told, std::size_t shard);

}  // namespace tidemark::api
