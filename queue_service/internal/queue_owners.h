// The other processes that share the shards of the queues, reached over the internal RPC.
#pragma once
#include <functional>

#include "common/service/shard_router.h"
#include "queue_service/storage/other_owners.h"

namespace tidemark::queue_service {

class QueueOwners final : public OtherOwners {
 public:
  using ShardOf = std::function<std::size_t(std::string_view account, std::string_view queue)>;
  /// The router must outlive it. `shard_of`: QueueService::shard_of().
  QueueOwners(service::ShardRouter& router, ShardOf shard_of) : router_(router), shard_of_(std::move(shard_of)) {}

  [[nodiscard]] bool here(std::size_t shard) const override { return router_.here(shard); }
  Task<Result<Arrived>> arrive(std::size_t to_shard, std::size_t from_shard, std::vector<Departed> departed) override;
  Task<Result<bool>> withdraw(std::size_t shard, std::string account, std::vector<std::string> queues,
                              MessageName message) override;
  Task<Result<void>> make_part(std::string account, std::string part, std::uint64_t incarnation,
                               bool with_poison) override;
  Task<Result<void>> drop_part(std::string account, std::string part, std::uint64_t incarnation) override;
  Task<Result<void>> clear(std::string account, std::string part) override;
  Task<Result<Placed>> put(std::string account, std::string part, PutRequest request) override;
  Task<Result<std::vector<TakenMessage>>> take(std::string account, std::string part, TakeRequest request) override;
  Task<Result<Placed>> update(LeaseKey holder, Duration visibility, std::optional<std::string> text) override;
  Task<Result<void>> erase(LeaseKey holder) override;
  Task<Result<void>> give_back(LeaseKey holder) override;
  Task<Result<std::vector<Placed>>> finish(LeaseKey holder, std::vector<FollowUp> follow_ups) override;
  Task<Result<Placed>> move(LeaseKey holder, MoveRequest request) override;
  Task<Result<void>> remove(std::string account, std::string part, std::string id,
                            std::optional<std::uint64_t> epoch) override;
  Task<Result<void>> redrive(std::string account, std::string part, std::string id, MoveRequest request,
                             std::optional<std::uint64_t> epoch) override;
  Task<void> cancel_wait(std::string token) override;

 private:
  /// Sends a call to the process that serves this part.
  template <class Call>
  Task<Result<typename Call::Reply>> of_part(const std::string& account, const std::string& part, Call call);
  service::ShardRouter& router_;
  const ShardOf shard_of_;
};

}  // namespace tidemark::queue_service
