// Places of calls that several stores have: a call's place() tells which shard it belongs to (common/shards/peers.h).
#pragma once
#include <cstddef>
#include <string_view>

namespace tidemark::rpc {

/// A shard by its number.
struct ShardNumber {
  std::size_t shard = 0;
};
/// The first shard, which has the tables, queues or containers of a store, and the properties of accounts.
inline constexpr ShardNumber kCatalogue{0};

/// The home of an operation's ledger (common/shards/operation_ledgers.h).
struct OperationPlace {
  std::string_view account, operation_id;
};

}  // namespace tidemark::rpc
