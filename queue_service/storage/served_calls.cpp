#include "queue_service/storage/served_calls.h"

#include <algorithm>
#include <boost/asio/post.hpp>

#include "common/protocol/service_properties.h"
#include "queue_service/storage/queue_keys.h"

namespace tidemark::queue_service {
namespace {

constexpr std::uint32_t kMaxQueueFiguresPerPage = 1000;
constexpr std::uint32_t kQueuesPerSlice = 8;
constexpr std::size_t kMaxLeases = 100;

/// Limits the values to the bounds of the protocol.
void bound(PutRequest& message) {
  message.delay = std::clamp(message.delay, Duration::zero(), kMaxVisibility);
  if (message.time_to_live) message.time_to_live = std::max(*message.time_to_live, Duration(1));
  message.retention = std::clamp(message.retention, Duration(1), kMaxIdempotencyRetention);
}

}  // namespace

namespace handlers {

Result<calls::ListQueues::Reply> list_queues(QueueService& service, const calls::ListQueues& call) {
  auto page = TRY(service.list_queues(call.account, call.prefix, call.from, kMaxQueuesPerPage));
  calls::ListQueues::Reply reply;
  for (auto& queue : page.queues) reply.first.push_back(std::move(queue.name));
  reply.second = std::move(page.next).value_or(std::string());
  return reply;
}

Task<Result<Placed>> put(QueueService& service, calls::Put call) {
  bound(call.message);
  return service.put(std::move(call.account), std::move(call.queue), std::move(call.message));
}

Task<Result<std::vector<TakenMessage>>> receive(QueueService& service, calls::Receive call) {
  TakeRequest request;
  request.visibility = std::clamp(call.visibility, Duration(std::chrono::milliseconds(1)), kMaxVisibility);
  request.count = std::clamp(call.count, 1U, kMaxMessagesPerReceive);
  request.limits = call.limits;
  request.lease = true;
  WaitRequest wait;
  wait.span = std::clamp(call.wait, Duration::zero(), kMaxReceiveWait);
  wait.token = std::move(call.token);
  // A caller that waits may be gone by the time a message comes.
  request.offer = wait.span > Duration::zero();
  return service.get(std::move(call.account), std::move(call.queue), request, std::move(wait));
}

std::vector<Message> messages_of(std::vector<TakenMessage> taken) {
  std::vector<Message> messages;
  messages.reserve(taken.size());
  for (auto& each : taken) messages.push_back(std::move(each.message));
  return messages;
}

Result<void> cancel_wait_here(QueueService& service, const calls::CancelWaitHere& call) {
  service.cancel_wait(call.token);
  return {};
}

Task<Result<std::vector<TakenMessage>>> take(QueueService& service, calls::Take call) {
  return service.get(
      std::move(call.account), std::move(call.name), call.request,
      {.span = std::clamp(call.wait, Duration::zero(), kMaxReceiveWait), .token = std::move(call.token)});
}

Task<Result<Arrived>> arrive(QueueService& service, calls::Arrive call) {
  std::vector<Departed> departed;
  for (const auto& [number, row] : call.departed) departed.push_back({number, CO_TRY(decode_departure(row))});
  co_return co_await service.arrive(call.to_shard, call.from_shard, std::move(departed));
}

calls::Arrive::Reply outcomes_of(Arrived arrived) {
  calls::Arrive::Reply outcomes;
  for (auto& [number, arrival] : arrived) {
    outcomes.push_back({number, arrival ? std::nullopt : std::optional(arrival.error().code),
                        arrival ? std::get<Placed>(std::move(*arrival)) : Placed()});
  }
  return outcomes;
}

namespace {

bool are_leases(const std::vector<LeaseKey>& keys) {
  // Epoch 0 would stand for a pop receipt.
  return keys.size() <= kMaxLeases && std::ranges::none_of(keys, [](const auto& key) { return key.epoch == 0; });
}

}  // namespace

Task<Result<std::vector<bool>>> complete_all(QueueService& service, calls::CompleteAll call) {
  if (!are_leases(call.leases)) co_return fail(ErrorCode::kInvalidInput);
  co_return co_await service.erase_all(std::move(call.account), std::move(call.queue), std::move(call.leases));
}

Task<Result<std::vector<bool>>> renew_all(QueueService& service, calls::RenewAll call) {
  if (!are_leases(call.leases)) co_return fail(ErrorCode::kInvalidInput);
  const auto visibility = std::clamp(call.visibility, Duration(std::chrono::milliseconds(1)), kMaxVisibility);
  co_return co_await service.renew_all(std::move(call.account), std::move(call.queue), std::move(call.leases),
                                       visibility);
}

Task<Result<std::vector<Placed>>> finish(QueueService& service, calls::Finish call) {
  for (auto& next : call.follow_ups) bound(next.message);
  return service.finish(std::move(call.lease), std::move(call.follow_ups));
}

Result<MessagePage> list(QueueService& service, const calls::ListMessages& call) {
  return service.list(call.account, call.queue, std::min(call.limit, kMaxMessagesPerList), call.continuation);
}

/// Works in slices, between which requests go on: each queue may have thousands of messages to count.
Task<Result<QueueFiguresPage>> all_figures(QueueService& service, calls::AllFigures call) {
  const auto executor = co_await asio::this_coro::executor;
  const auto limit = std::clamp(call.limit, 1U, kMaxQueueFiguresPerPage);
  // A continuation is a queue's name, not a key of the store: it passes through JSON and people's hands.
  auto from = call.continuation.empty() ? std::string() : queue_keys::queue(call.account, call.continuation);
  QueueFiguresPage reply;
  do {
    const auto left = limit - static_cast<std::uint32_t>(reply.queues.size());
    const auto page = CO_TRY(service.all_figures(call.account, from, std::min(left, kQueuesPerSlice)));
    for (const auto& item : page.queues) reply.queues.emplace_back(item.queue, item.figures);
    from = page.next;
    co_await asio::post(executor, asio::use_awaitable);
  } while (!from.empty() && reply.queues.size() < limit);
  const auto next = from.empty() ? std::nullopt : queue_keys::account_and_queue(from);
  if (next) reply.continuation = next->second;
  co_return reply;
}

Task<Result<void>> set_paused(QueueService& service, calls::SetPaused call) {
  return service.patch_metadata(std::move(call.account), std::move(call.queue),
                                {{std::string(kPausedName), call.paused ? "true" : ""}});
}

Task<Result<void>> set_parts(QueueService& service, calls::SetParts call) {
  return service.patch_metadata(std::move(call.account), std::move(call.queue),
                                {{std::string(kPartsName), std::to_string(call.parts)}});
}

Task<Result<void>> set_service_properties(QueueService& service, calls::SetServiceProperties call) {
  co_return co_await service.set_service_properties(std::move(call.account), [&](const std::string& stored) {
    return protocol::merge_service_properties(protocol::StoreKind::kQueue, stored, call.document);
  });
}

}  // namespace handlers

Task<Result<Arrived>> arrive_elsewhere(shards::Peers& peers, std::size_t to_shard, std::size_t from_shard,
                                       const std::vector<Departed>& departed) {
  calls::Arrive call{to_shard, from_shard, {}};
  for (const auto& [number, departure] : departed) call.departed.emplace_back(number, encode_departure(departure));
  auto outcomes = CO_TRY(co_await shards::call_elsewhere(peers, {.shard = to_shard}, std::move(call)));
  Arrived arrived;
  for (auto& [number, refused, placed] : outcomes) {
    arrived.emplace_back(number, refused ? Result<Arrival>(fail(*refused)) : Result<Arrival>(std::move(placed)));
  }
  co_return arrived;
}

}  // namespace tidemark::queue_service
