// The calls of requests over HTTP, and those between the processes that share the shards of the tables (docs/scale.md,
// Owners). client/table_calls.h has the calls of workers and the api.
#pragma once
#include "table_store/client/table_calls.h"

namespace tidemark::table_store::calls {

/// Merges the document of a client into the service properties of the account.
struct SetServiceProperties {
  static constexpr std::string_view kMethod = "table.set_service_properties";
  using Reply = void;
  std::string account, document;
  [[nodiscard]] rpc::ShardNumber place() const { return rpc::kCatalogue; }
};

/// The part of a MutateAll whose partitions are on one shard.
struct MutateOn {
  static constexpr std::string_view kMethod = "table.mutate_on";
  using Reply = MutateAll::Reply;
  std::uint64_t shard = 0;
  std::string account;
  std::vector<PartitionMutations> partitions;
  std::optional<Fence> fence;
  [[nodiscard]] rpc::ShardNumber place() const { return {shard}; }
};

/// The part of an Acknowledge on one shard.
struct AcknowledgeOn {
  static constexpr std::string_view kMethod = "table.acknowledge_on";
  using Reply = void;
  std::uint64_t shard = 0;
  std::string feed_key, follower;
  Version position = 0;
  [[nodiscard]] rpc::ShardNumber place() const { return {shard}; }
};

/// Asks to be told of the first change of a feed after this version (storage/change_hints.h).
struct AwaitChange {
  static constexpr std::string_view kMethod = "table.await_change";
  using Reply = bool;  // false: there was none for a while
  std::uint64_t shard = 0, feed = 0;
  Version after = 0;
  [[nodiscard]] rpc::ShardNumber place() const { return {shard}; }
};

}  // namespace tidemark::table_store::calls
