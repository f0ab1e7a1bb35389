// The calls of common/shards/owner_calls.h, over the internal RPC. Thread safe.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "common/shards/owner_calls.h"
#include "common/shards/shard_router.h"

namespace tidemark::service {

class RoutedCalls final : public shards::OwnerCalls {
 public:
  /// The router must outlive it.
  explicit RoutedCalls(shards::ShardRouter& router) : router_(router) {}

  [[nodiscard]] bool here(std::size_t shard) const override { return router_.here(shard); }
  [[nodiscard]] bool leased(std::size_t shard) const override { return router_.places().leased(shard); }

  /// Answers the calls of other processes, and passes all others to `store`. Must not outlive this.
  rpc::Dispatch beside(rpc::Dispatch store);

 private:
  Task<Result<std::optional<std::string>>> pass_on(std::size_t shard, const std::string& name,
                                                   const std::string& payload) override;
  Task<Result<std::string>> answer(std::string payload);

  shards::ShardRouter& router_;
};

}  // namespace tidemark::service
