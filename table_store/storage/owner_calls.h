// The calls of requests over HTTP, and those between the processes that share the shards of the tables (docs/scale.md,
// Owners). client/table_calls.h has the calls of workers and the api.
#pragma once
#include "common/base/stored_policy.h"
#include "table_store/client/table_calls.h"

namespace tidemark::table_store::calls {

struct SetAcl {
  static constexpr std::string_view kMethod = "table.set_acl";
  using Reply = void;
  std::string account, table;
  StoredPolicies policies;
  [[nodiscard]] ShardNumber place() const { return kCatalogue; }
};

/// Merges the document of a client into the service properties of the account.
struct SetServiceProperties {
  static constexpr std::string_view kMethod = "table.set_service_properties";
  using Reply = void;
  std::string account, document;
  [[nodiscard]] ShardNumber place() const { return kCatalogue; }
};

/// The part of a MutateAll whose partitions are on one shard.
struct MutateOn {
  static constexpr std::string_view kMethod = "table.mutate_on";
  using Reply = MutateAll::Reply;
  std::uint64_t shard = 0;
  std::string account;
  std::vector<PartitionMutations> partitions;
  std::optional<Fence> fence;
  [[nodiscard]] ShardNumber place() const { return {shard}; }
};

}  // namespace tidemark::table_store::calls
