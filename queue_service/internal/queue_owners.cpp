#include "queue_service/internal/queue_owners.h"

#include "common/rpc/call.h"
#include "queue_service/client/queue_calls.h"
#include "queue_service/internal/owner_calls.h"

namespace tidemark::queue_service {
namespace {

/// kServerBusy if the shard has come here meanwhile: a retry finds it here.
template <class Call>
Task<Result<typename Call::Reply>> call_owner(service::ShardRouter& router, std::size_t shard, Call call) {
  auto reply = CO_TRY(co_await router.forward({.shard = shard}, std::string(Call::kMethod), wire::encode(call)));
  if (!reply) co_return fail(ErrorCode::kServerBusy);
  if constexpr (std::is_void_v<typename Call::Reply>) {
    co_return Result<void>();
  } else {
    auto value = wire::decode<typename Call::Reply>(*reply);
    if (!value)
      co_return fail(error_for_log(ErrorCode::kInternalError, "malformed reply of " + std::string(Call::kMethod)));
    co_return std::move(*value);
  }
}

}  // namespace

Task<Result<Arrived>> QueueOwners::arrive(std::size_t to_shard, std::size_t from_shard,
                                          std::vector<Departed> departed) {
  calls::Arrive call{to_shard, from_shard, {}};
  for (const auto& [number, departure] : departed) call.departed.emplace_back(number, encode_departure(departure));
  auto outcomes = CO_TRY(co_await call_owner(router_, to_shard, std::move(call)));
  Arrived arrived;
  for (auto& [number, refused, placed] : outcomes) {
    arrived.emplace_back(number, refused ? Result<Arrival>(fail(*refused)) : Result<Arrival>(std::move(placed)));
  }
  co_return arrived;
}

Task<Result<bool>> QueueOwners::withdraw(std::size_t shard, std::string account, std::vector<std::string> queues,
                                         MessageName message) {
  return call_owner(router_, shard,
                    calls::WithdrawThere{shard, std::move(account), std::move(queues), std::move(message)});
}

template <class Call>
Task<Result<typename Call::Reply>> QueueOwners::of_part(const std::string& account, const std::string& part,
                                                        Call call) {
  return call_owner(router_, shard_of_(account, part), std::move(call));
}

Task<Result<void>> QueueOwners::make_part(std::string account, std::string part, std::uint64_t incarnation,
                                          bool with_poison) {
  return of_part(account, part, calls::MakePart{account, part, incarnation, with_poison});
}
Task<Result<void>> QueueOwners::drop_part(std::string account, std::string part, std::uint64_t incarnation) {
  return of_part(account, part, calls::DropPart{account, part, incarnation});
}
Task<Result<void>> QueueOwners::clear(std::string account, std::string part) {
  return of_part(account, part, calls::Clear{account, part});
}
Task<Result<Placed>> QueueOwners::put(std::string account, std::string part, PutRequest request) {
  return of_part(account, part, calls::PutIntoPart{account, part, std::move(request)});
}
Task<Result<std::vector<TakenMessage>>> QueueOwners::take(std::string account, std::string part, TakeRequest request) {
  return of_part(account, part, calls::Take{account, part, request});
}
Task<Result<Placed>> QueueOwners::update(LeaseKey holder, Duration visibility, std::optional<std::string> text) {
  return of_part(holder.account, holder.queue, calls::Update{holder, visibility, std::move(text)});
}
Task<Result<void>> QueueOwners::erase(LeaseKey holder) {
  return of_part(holder.account, holder.queue, calls::Complete{holder});
}
Task<Result<void>> QueueOwners::give_back(LeaseKey holder) {
  return of_part(holder.account, holder.queue, calls::GiveBack{holder});
}
Task<Result<std::vector<Placed>>> QueueOwners::finish(LeaseKey holder, std::vector<FollowUp> follow_ups) {
  return of_part(holder.account, holder.queue, calls::Finish{holder, std::move(follow_ups)});
}
Task<Result<Placed>> QueueOwners::move(LeaseKey holder, MoveRequest request) {
  return of_part(holder.account, holder.queue, calls::Move{holder, std::move(request)});
}
Task<Result<void>> QueueOwners::remove(std::string account, std::string part, std::string id,
                                       std::optional<std::uint64_t> epoch) {
  return of_part(account, part, calls::RemoveFromPart{account, part, std::move(id), epoch});
}
Task<Result<void>> QueueOwners::redrive(std::string account, std::string part, std::string id, MoveRequest request,
                                        std::optional<std::uint64_t> epoch) {
  return of_part(account, part, calls::RedriveFromPart{account, part, std::move(id), std::move(request), epoch});
}

Task<void> QueueOwners::cancel_wait(std::string token) {
  return router_.tell_others(std::string(calls::CancelWaitHere::kMethod), wire::encode(calls::CancelWaitHere{token}));
}

}  // namespace tidemark::queue_service
