// What would take load from the busy shards of a store: moves of shards between the processes that share them, and
// partitions that only whoever names them can spread. Pure.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/service/shard_calls.h"

namespace tidemark::api {

/// What is known of one shard.
struct PlannedShard {
  std::size_t number = 0;
  std::string process = {};  // that serves it; empty: nobody
  std::optional<double> writes_per_s = {};
  std::vector<service::HotName> hottest = {};
};

struct SplitPlan {
  struct Part {
    service::HotName name;
    double of_shard = 0;            // its part of the shard's transactions, 0 to 1
    bool too_hot = false;           // alone more than a shard can carry: wherever its shard is
    std::uint64_t spread_over = 0;  // so many partitions would leave each shard that has one half of what it can carry
  };
  struct HotShard {
    std::size_t number = 0;
    std::string process;
    double writes_per_s = 0;
    std::vector<Part> parts;  // that have much of it
    double without_parts = 0;
  };
  struct Move {
    std::size_t shard = 0;
    std::string from, to;
    double writes_per_s = 0;
  };
  /// Of the shard or process that has most.
  struct Change {
    double before = 0, after = 0;
  };

  double carries = 0;                    // transactions a second that a shard can carry
  bool complete = true;                  // of all shards it is known how busy they are
  std::vector<HotShard> hot = {};        // the hottest first
  std::vector<Move> moves = {};          // in this order
  Change busiest_process = {};           // by the moves
  Change hottest_shard = {};             // by spreading all these parts evenly over all shards
  std::vector<std::string> advice = {};  // for people
};

/// The default of `carries`; docs/scale.md.
inline constexpr double kShardCarries = 10'000;
inline constexpr std::size_t kMostMoves = 16;

/// `store`: "table". `processes`: those that live and share the shards; one or none: nothing can be moved.
SplitPlan plan_split(std::string_view store, const std::vector<PlannedShard>& shards,
                     const std::vector<std::string>& processes, double carries = kShardCarries);

/// What a store told, a shard each: of those that two processes tell of, what the one tells that claimed it last.
std::vector<PlannedShard> planned_shards(const service::StoreShards& told);
/// The same as ShardLoad; null: nobody told.
const service::ShardLoad* load_of(const service::StoreShards& told, std::size_t shard);

}  // namespace tidemark::api
