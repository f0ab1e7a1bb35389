// The other processes that share the shards of the queues, reached over the internal RPC.
#pragma once
#include "common/service/shard_router.h"
#include "queue_service/storage/other_owners.h"

namespace tidemark::queue_service {

class QueueOwners final : public OtherOwners {
 public:
  /// The router must outlive it.
  explicit QueueOwners(service::ShardRouter& router) : router_(router) {}

  [[nodiscard]] bool here(std::size_t shard) const override { return router_.here(shard); }
  Task<Result<Arrived>> arrive(std::size_t to_shard, std::size_t from_shard, std::vector<Departed> departed) override;
  Task<Result<bool>> withdraw(std::size_t shard, std::string account, std::vector<std::string> queues,
                              MessageName message) override;
  Task<void> cancel_wait(std::string token) override;

 private:
  service::ShardRouter& router_;
};

}  // namespace tidemark::queue_service
