#include "queue_service/internal/queue_owners.h"

#include "common/rpc/call.h"
#include "queue_service/internal/owner_calls.h"

namespace tidemark::queue_service {
namespace {

/// kServerBusy if the shard has come here meanwhile: whoever tries again finds it.
template <class Call>
Task<Result<typename Call::Reply>> call_owner(service::ShardRouter& router, std::size_t shard, Call call) {
  auto reply = CO_TRY(co_await router.forward({.shard = shard}, std::string(Call::kMethod), wire::encode(call)));
  if (!reply) co_return fail(ErrorCode::kServerBusy);
  auto value = wire::decode<typename Call::Reply>(*reply);
  if (!value)
    co_return fail(error_for_log(ErrorCode::kInternalError, "malformed reply of " + std::string(Call::kMethod)));
  co_return std::move(*value);
}

}  // namespace

Task<Result<Arrived>> QueueOwners::arrive(std::size_t to_shard, std::size_t from_shard,
                                          std::vector<Departed> departed) {
  calls::Arrive call{to_shard, from_shard, {}};
  for (const auto& [number, departure] : departed) call.departed.emplace_back(number, encode_departure(departure));
  auto outcomes = CO_TRY(co_await call_owner(router_, to_shard, std::move(call)));
  Arrived arrived;
  for (auto& [number, refused, placed] : outcomes) {
    arrived.emplace_back(number, refused ? Result<Placed>(fail(*refused)) : Result<Placed>(std::move(placed)));
  }
  co_return arrived;
}

Task<Result<bool>> QueueOwners::withdraw(std::size_t shard, std::string account, std::vector<std::string> queues,
                                         MessageName message) {
  return call_owner(router_, shard,
                    calls::WithdrawThere{shard, std::move(account), std::move(queues), std::move(message)});
}

Task<void> QueueOwners::cancel_wait(std::string token) {
  return router_.tell_others(std::string(calls::CancelWaitHere::kMethod), wire::encode(calls::CancelWaitHere{token}));
}

}  // namespace tidemark::queue_service
