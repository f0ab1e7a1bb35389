#include "queue_service/client/queue_client.h"

#include <map>

namespace tidemark::queue_service {
namespace {

constexpr Duration kCancelDeadline = std::chrono::seconds(1);
// The service may deliver to a caller that has died while it waited. This is how long such a message stays away,
// instead of a whole lease; a live caller extends it to the whole lease at once.
constexpr Duration kHandOver = std::chrono::seconds(1);

std::optional<Message> only(std::vector<Message> messages) {
  return messages.empty() ? std::nullopt : std::optional(std::move(messages.front()));
}

}  // namespace

LeaseKey QueueClient::key_of(Lease lease) const {
  return {caller_.account, std::move(lease.queue), std::move(lease.message_id), lease.epoch, {}};
}

Task<Result<std::vector<std::string>>> QueueClient::list_queues(std::string prefix) {
  std::vector<std::string> names;
  std::string from;
  do {
    auto page = CO_TRY(co_await rpc::call(caller_, calls::ListQueues{caller_.account, prefix, from}));
    std::move(page.first.begin(), page.first.end(), std::back_inserter(names));
    from = std::move(page.second);
  } while (!from.empty());
  co_return names;
}

Task<Result<std::string>> QueueClient::put(std::string queue, PutRequest message) {
  auto name = CO_TRY(co_await put_named(std::move(queue), std::move(message)));
  co_return std::move(name.id);
}

Task<Result<MessageName>> QueueClient::put_named(std::string queue, PutRequest message) {
  auto placed = CO_TRY(co_await rpc::call(caller_, calls::Put{caller_.account, std::move(queue), std::move(message)}));
  co_return MessageName{std::move(placed.id), std::move(placed.receipt)};
}

Task<Result<std::string>> QueueClient::put(std::string queue, std::string text, Duration visibility_delay) {
  return put(std::move(queue), PutRequest{std::move(text), visibility_delay});
}

Task<Result<std::optional<Message>>> QueueClient::receive(std::string queue, Duration visibility, Duration wait,
                                                          KeyLimits limits) {
  auto visible = CO_TRY(co_await take(queue, visibility, Duration::zero(), {}, 1, limits));
  if (!visible.empty() || wait <= Duration::zero()) co_return only(std::move(visible));
  std::string token;
  {
    MutexLock lock(mutex_);
    if (waits_ended_) co_return std::optional<Message>();
    if (!name_.empty()) token = *waits_.insert(name_ + "/" + std::to_string(++last_wait_)).first;
  }
  auto came = co_await take(queue, std::min(visibility, kHandOver), wait, token, 1, limits);
  {
    MutexLock lock(mutex_);
    waits_.erase(token);
  }
  auto message = only(CO_TRY(std::move(came)));
  if (!message) co_return message;
  auto kept = co_await renew(lease_of(queue, *message), visibility, std::nullopt, 0);
  // The confirmation came too late: another caller has the message by now.
  if (kept.failed_with(ErrorCode::kLeaseLost)) co_return std::optional<Message>();
  CO_TRY(std::move(kept));
  co_return message;
}

Task<Result<std::vector<Message>>> QueueClient::receive_some(std::string queue, Duration visibility,
                                                             std::uint32_t count, KeyLimits limits) {
  return take(std::move(queue), visibility, Duration::zero(), {}, count, limits);
}

Task<void> QueueClient::end_waits() {
  std::vector<std::string> tokens;
  {
    MutexLock lock(mutex_);
    waits_ended_ = true;
    tokens.assign(waits_.begin(), waits_.end());
  }
  for (auto& token : tokens) {
    auto ended = co_await rpc::call(caller_.transport, calls::CancelWait{std::move(token)}, kCancelDeadline);
    if (!ended) co_return;  // without that call, the waits bring nothing either
  }
}

Task<Result<std::vector<Message>>> QueueClient::take(std::string queue, Duration visibility, Duration wait,
                                                     std::string token, std::uint32_t count, KeyLimits limits) {
  const calls::Receive receive{caller_.account, std::move(queue), visibility, wait, std::move(token), count, limits};
  return rpc::call(caller_.transport, receive, wait + caller_.deadline);
}

Task<Result<void>> QueueClient::renew(Lease lease, Duration visibility, std::optional<std::string> annotation,
                                      std::uint64_t sequence) {
  return rpc::call(caller_, calls::Renew{key_of(std::move(lease)), visibility, std::move(annotation), sequence});
}

Task<Result<std::vector<std::string>>> QueueClient::finish(Lease lease, std::vector<FollowUp> follow_ups) {
  auto placed = CO_TRY(co_await rpc::call(caller_, calls::Finish{key_of(std::move(lease)), std::move(follow_ups)}));
  std::vector<std::string> ids;
  for (auto& message : placed) ids.push_back(std::move(message.id));
  co_return ids;
}

Task<Result<Placed>> QueueClient::update(Lease lease, Duration visibility, std::optional<std::string> text) {
  return rpc::call(caller_, calls::Update{key_of(std::move(lease)), visibility, std::move(text)});
}

Task<Result<void>> QueueClient::complete(Lease lease) {
  return rpc::call(caller_, calls::Complete{key_of(std::move(lease))});
}

Lease lease_of(std::string queue, const Message& message) {
  if (!message.part.empty()) queue = message.part;
  return {std::move(queue), message.id, message.epoch};
}

template <class Call>
Task<Result<std::vector<bool>>> QueueClient::by_queue(std::vector<Lease> leases, Call call) {
  // Messages in a part of a spread queue go to that part.
  std::map<std::string, std::vector<std::size_t>> by_queue;
  for (std::size_t i = 0; i < leases.size(); ++i) by_queue[leases[i].queue].push_back(i);
  std::vector<bool> all(leases.size(), false);
  for (const auto& [queue, indexes] : by_queue) {
    auto some = call;
    some.account = caller_.account;
    some.queue = queue;
    for (const auto i : indexes) some.leases.push_back(key_of(std::move(leases[i])));
    const auto replies = CO_TRY(co_await rpc::call(caller_, some));
    if (replies.size() != indexes.size()) co_return fail(ErrorCode::kInternalError);
    for (std::size_t i = 0; i < indexes.size(); ++i) all[indexes[i]] = replies[i];
  }
  co_return all;
}

Task<Result<std::vector<bool>>> QueueClient::complete_all(std::vector<Lease> leases) {
  return by_queue(std::move(leases), calls::CompleteAll{});
}

Task<Result<std::vector<bool>>> QueueClient::renew_all(std::vector<Lease> leases, Duration visibility) {
  calls::RenewAll call;
  call.visibility = visibility;
  return by_queue(std::move(leases), std::move(call));
}

Task<Result<void>> QueueClient::release(Lease lease, Duration delay, std::string annotation, bool count_attempt) {
  return rpc::call(caller_, calls::Release{key_of(std::move(lease)), delay, std::move(annotation), count_attempt});
}

Task<Result<void>> QueueClient::move(Lease lease, MoveRequest move) {
  CO_TRY(co_await rpc::call(caller_, calls::Move{key_of(std::move(lease)), std::move(move)}));
  co_return Result<void>{};
}

Task<Result<void>> QueueClient::remove(std::string queue, std::string message_id, std::optional<std::uint64_t> epoch) {
  return rpc::call(caller_, calls::Remove{caller_.account, std::move(queue), std::move(message_id), epoch});
}

Task<Result<void>> QueueClient::redrive(std::string queue, std::string message_id, std::string to_queue,
                                        std::optional<std::string> text, std::string annotation,
                                        std::optional<std::uint64_t> epoch, std::string seen) {
  MoveRequest move{.to_queue = std::move(to_queue),
                   .annotation = std::move(annotation),
                   .reset_dequeue_count = true,
                   .text = std::move(text),
                   .seen = std::move(seen)};
  return rpc::call(caller_,
                   calls::Redrive{caller_.account, std::move(queue), std::move(message_id), std::move(move), epoch});
}

}  // namespace tidemark::queue_service
