#include "queue_service/internal/queue_dispatch.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <span>

#include "common/rpc/call.h"
#include "queue_service/client/queue_calls.h"
#include "queue_service/internal/owner_calls.h"
#include "queue_service/storage/queue_keys.h"
#include "queue_service/storage/queue_service.h"

namespace tidemark::queue_service {
namespace {

constexpr std::uint32_t kMaxQueueFiguresPerPage = 1000;
constexpr std::uint32_t kQueuesPerSlice = 8;
constexpr std::size_t kMaxCompletions = 100;

/// Limits the values to the bounds of the protocol.
PutRequest bounded(PutRequest message) {
  message.delay = std::clamp(message.delay, Duration::zero(), kMaxVisibility);
  if (message.time_to_live) message.time_to_live = std::max(*message.time_to_live, Duration(1));
  message.retention = std::clamp(message.retention, Duration(1), kMaxIdempotencyRetention);
  return message;
}

Result<calls::ListQueues::Reply> list_queues(QueueService& service, const calls::ListQueues& call) {
  auto page = TRY(service.list_queues(call.account, call.prefix, call.from, kMaxQueuesPerPage));
  calls::ListQueues::Reply reply;
  for (auto& queue : page.queues) reply.first.push_back(std::move(queue.name));
  reply.second = std::move(page.next).value_or(std::string());
  return reply;
}

Task<Result<Placed>> put(QueueService& service, calls::Put call) {
  return service.put(std::move(call.account), std::move(call.queue), bounded(std::move(call.message)));
}

Task<Result<std::vector<TakenMessage>>> receive(QueueService& service, calls::Receive call) {
  TakeRequest request;
  request.visibility = std::clamp(call.visibility, Duration(std::chrono::milliseconds(1)), kMaxVisibility);
  request.count = std::clamp(call.count, 1U, kMaxMessagesPerGet);
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
  return service.get(std::move(call.account), std::move(call.part), call.request, {});
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

Task<Result<bool>> withdraw_there(QueueService& service, calls::WithdrawThere call) {
  return service.withdraw(std::move(call.account), std::move(call.queues), std::move(call.message));
}

Task<Result<std::vector<bool>>> complete_all(QueueService& service, calls::CompleteAll call) {
  // Epoch 0 would stand for a pop receipt.
  const bool leased =
      std::all_of(call.leases.begin(), call.leases.end(), [](const auto& key) { return key.epoch != 0; });
  if (!leased || call.leases.size() > kMaxCompletions) co_return fail(ErrorCode::kInvalidInput);
  co_return co_await service.erase_all(std::move(call.account), std::move(call.queue), std::move(call.leases));
}

Task<Result<std::vector<Placed>>> finish(QueueService& service, calls::Finish call) {
  for (auto& next : call.follow_ups) next.message = bounded(std::move(next.message));
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

using Face = rpc::Face<QueueService>;
constexpr Face::Handler kHandlers[] = {
    Face::on<calls::EnsureQueue, &QueueService::ensure_queue>(),
    Face::on<calls::ListQueues, &list_queues>(),
    Face::on<calls::Put, &put>(),
    Face::on<calls::Receive, &receive, &messages_of>(),
    Face::on<calls::CancelWait, &QueueService::cancel_wait_anywhere>(),
    Face::on<calls::CancelWaitHere, &cancel_wait_here>(),
    Face::on<calls::GiveBack, &QueueService::give_back>(),
    Face::on<calls::Arrive, &arrive, &outcomes_of>(),
    Face::on<calls::WithdrawThere, &withdraw_there>(),
    Face::on<calls::MakePart, &QueueService::make_part>(),
    Face::on<calls::DropPart, &QueueService::drop_part>(),
    Face::on<calls::Clear, &QueueService::clear>(),
    Face::on<calls::Take, &take>(),
    Face::on<calls::PutIntoPart, &QueueService::put>(),
    Face::on<calls::RemoveFromPart, &QueueService::remove>(),
    Face::on<calls::RedriveFromPart, &QueueService::redrive>(),
    Face::on<calls::Update, &QueueService::update>(),
    Face::on<calls::Renew, &QueueService::renew>(),
    Face::on<calls::Complete, &QueueService::erase>(),
    Face::on<calls::CompleteAll, &complete_all>(),
    Face::on<calls::Finish, &finish>(),
    Face::on<calls::Release, &QueueService::release>(),
    Face::on<calls::Move, &QueueService::move>(),
    Face::on<calls::ListMessages, &list>(),
    Face::on<calls::Find, &QueueService::find>(),
    Face::on<calls::Holds, &QueueService::holds>(),
    Face::on<calls::Withdraw, &QueueService::withdraw>(),
    Face::on<calls::Remove, &QueueService::remove>(),
    Face::on<calls::Redrive, &QueueService::redrive>(),
    Face::on<calls::Figures, &QueueService::figures>(),
    Face::on<calls::AllFigures, &all_figures>(),
    Face::on<calls::SetPaused, &set_paused>(),
    Face::on<calls::SetParts, &set_parts>(),
};

Task<void> give_all_back(rpc::Dispatch dispatch, std::string request, std::string reply) {
  const auto call = wire::decode<calls::Receive>(request);
  const auto messages = wire::decode<calls::Receive::Reply>(reply);
  if (!call || !messages) co_return;
  for (const auto& message : *messages) {
    const auto& queue = message.part.empty() ? call->queue : message.part;
    const calls::GiveBack back{{call->account, queue, message.id, message.epoch}};
    auto done = co_await dispatch(std::string(calls::GiveBack::kMethod), wire::encode(back));
    static_cast<void>(done.has_value());  // if it failed, the lease expires
  }
}

/// Calls whose first fields are an account and a queue, which must be a whole queue.
constexpr std::string_view kOfWholeQueue[] = {
    calls::EnsureQueue::kMethod, calls::Put::kMethod,      calls::Receive::kMethod, calls::ListMessages::kMethod,
    calls::Find::kMethod,        calls::Remove::kMethod,   calls::Redrive::kMethod, calls::Figures::kMethod,
    calls::SetPaused::kMethod,   calls::SetParts::kMethod,
};
/// Calls whose first fields are an account and a queue or a part.
constexpr std::string_view kOfQueue[] = {
    calls::Renew::kMethod,    calls::Complete::kMethod,       calls::CompleteAll::kMethod,
    calls::Finish::kMethod,   calls::Release::kMethod,        calls::Move::kMethod,
    calls::GiveBack::kMethod, calls::MakePart::kMethod,       calls::DropPart::kMethod,
    calls::Clear::kMethod,    calls::Take::kMethod,           calls::PutIntoPart::kMethod,
    calls::Update::kMethod,   calls::RemoveFromPart::kMethod, calls::RedriveFromPart::kMethod,
};
constexpr Duration kLongest = std::chrono::seconds(10);

bool is_one_of(std::span<const std::string_view> methods, std::string_view method) {
  return std::ranges::find(methods, method) != methods.end();
}

struct NamedQueue {
  std::string_view account, queue;
};

/// Returns nothing if the call is malformed: the handler of the call reports that.
std::optional<NamedQueue> queue_in(std::string_view payload) {
  ByteReader in(payload);
  const NamedQueue named{in.string(), in.string()};
  return in.ok() ? std::optional(named) : std::nullopt;
}

Task<Result<std::string>> refuse(Error why) { co_return fail(std::move(why)); }

}  // namespace

std::optional<CallOfShard> shard_of_call(const QueueService& service, std::string_view method,
                                         std::string_view payload) {
  if (method == calls::Arrive::kMethod || method == calls::WithdrawThere::kMethod) {
    ByteReader in(payload);
    const auto shard = in.varint();
    return in.ok() ? std::optional(CallOfShard{shard, kLongest}) : std::nullopt;
  }
  if (!is_one_of(kOfWholeQueue, method) && !is_one_of(kOfQueue, method)) return std::nullopt;
  const auto named = queue_in(payload);
  if (!named) return std::nullopt;
  const auto waits = method == calls::Receive::kMethod ? kMaxReceiveWait : Duration::zero();
  return CallOfShard{service.shard_of(named->account, named->queue), kLongest + waits};
}

rpc::UndeliveredHook make_undelivered_hook(rpc::Dispatch dispatch) {
  return {std::string(calls::Receive::kMethod),
          [dispatch = std::move(dispatch)](std::string request, std::string reply) {
            return give_all_back(dispatch, std::move(request), std::move(reply));
          }};
}

rpc::Dispatch make_queue_dispatch(QueueService& service) {
  return [serve = rpc::make_dispatch(service, kHandlers)](const std::string& method, std::string payload) {
    const auto named = is_one_of(kOfWholeQueue, method) ? queue_in(payload) : std::nullopt;
    const auto checked = named ? check_is_whole(named->queue) : Result<void>();
    return checked ? serve(method, std::move(payload)) : refuse(checked.error());
  };
}

}  // namespace tidemark::queue_service
