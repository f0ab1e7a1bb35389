// The calls by which the parts of a store that work on several shards have their work done on shards that other
// processes serve. Each may be made twice, and late. A store that has such a part lists them among its calls.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "common/rpc/places.h"

namespace tidemark::shards {

/// A change of an operation's ledger on one shard (operation_ledgers.h).
struct LedgerChange {
  enum class What : std::uint8_t { kRaise = 1, kClose = 2, kForget = 3, kEnter = 4, kLast = kEnter };
  What what = What::kRaise;
  std::string account, operation_id;
  std::uint64_t epoch = 0, since = 0;
  std::uint64_t entering = 0;  // at home: the shard to be listed
};

namespace calls {

struct ChangeLedger {
  static constexpr std::string_view kMethod = "ledger.change";
  using Reply = void;
  std::uint64_t shard = 0;
  LedgerChange change;
  [[nodiscard]] rpc::ShardNumber place() const { return {shard}; }
};

/// Makes the change that the catalogue's mark of a name describes, on this shard (catalogue_copies.h).
struct FollowMark {
  static constexpr std::string_view kMethod = "catalogue.follow_mark";
  using Reply = void;
  std::uint64_t shard = 0;
  std::string account, name;
  [[nodiscard]] rpc::ShardNumber place() const { return {shard}; }
};

/// Finishes a change that has been under way for long.
struct FinishChange {
  static constexpr std::string_view kMethod = "catalogue.finish_change";
  using Reply = void;
  std::string account, name;
  [[nodiscard]] rpc::ShardNumber place() const { return rpc::kCatalogue; }
};

}  // namespace calls
}  // namespace tidemark::shards
