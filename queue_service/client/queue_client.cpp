#include "queue_service/client/queue_client.h"

#include "common/rpc/call.h"
#include "queue_service/client/queue_calls.h"

namespace tidemark::queue_service {
namespace {

constexpr Duration kDeadline = std::chrono::seconds(10);
constexpr Duration kCancelDeadline = std::chrono::seconds(1);
// A caller that dies while it waits is served all the same. The message it will never work on comes back after this
// time instead of a whole lease; a caller that lives makes the lease whole at once.
constexpr Duration kHandOver = std::chrono::seconds(1);

std::optional<Message> only(std::vector<Message> messages) {
  return messages.empty() ? std::nullopt : std::optional(std::move(messages.front()));
}

}  // namespace

LeaseKey QueueClient::key_of(Lease lease) const {
  return {account_, std::move(lease.queue), std::move(lease.message_id), lease.epoch, {}};
}

Task<Result<void>> QueueClient::ensure_queue(std::string queue) {
  return rpc::call(transport_, calls::EnsureQueue{account_, std::move(queue)}, kDeadline);
}

Task<Result<std::vector<std::string>>> QueueClient::list_queues(std::string prefix) {
  std::vector<std::string> names;
  std::string from;
  do {
    auto page = CO_TRY(co_await rpc::call(transport_, calls::ListQueues{account_, prefix, from}, kDeadline));
    std::move(page.first.begin(), page.first.end(), std::back_inserter(names));
    from = std::move(page.second);
  } while (!from.empty());
  co_return names;
}

Task<Result<std::string>> QueueClient::put(std::string queue, PutRequest message) {
  return rpc::call(transport_, calls::Put{account_, std::move(queue), std::move(message)}, kDeadline);
}

Task<Result<std::string>> QueueClient::put(std::string queue, std::string text, Duration visibility_delay) {
  return put(std::move(queue), PutRequest{std::move(text), visibility_delay});
}

Task<Result<std::optional<Message>>> QueueClient::receive(std::string queue, Duration visibility, Duration wait) {
  auto visible = CO_TRY(co_await take(queue, visibility, Duration::zero(), {}, 1));
  if (!visible.empty() || wait <= Duration::zero()) co_return only(std::move(visible));
  std::string token;
  {
    MutexLock lock(mutex_);
    if (waits_ended_) co_return std::optional<Message>();
    if (!name_.empty()) token = *waits_.insert(name_ + "/" + std::to_string(++last_wait_)).first;
  }
  auto came = co_await take(queue, std::min(visibility, kHandOver), wait, token, 1);
  {
    MutexLock lock(mutex_);
    waits_.erase(token);
  }
  auto message = only(CO_TRY(std::move(came)));
  if (!message) co_return message;
  auto kept = co_await renew({queue, message->id, message->epoch}, visibility, std::nullopt, 0);
  // It came too late: another caller has the message by now.
  if (kept.failed_with(ErrorCode::kLeaseLost)) co_return std::optional<Message>();
  CO_TRY(std::move(kept));
  co_return message;
}

Task<Result<std::vector<Message>>> QueueClient::receive_some(std::string queue, Duration visibility,
                                                             std::uint32_t count) {
  return take(std::move(queue), visibility, Duration::zero(), {}, count);
}

Task<void> QueueClient::end_waits() {
  std::vector<std::string> tokens;
  {
    MutexLock lock(mutex_);
    waits_ended_ = true;
    tokens.assign(waits_.begin(), waits_.end());
  }
  for (auto& token : tokens) {
    auto ended = co_await rpc::call(transport_, calls::CancelWait{std::move(token)}, kCancelDeadline);
    if (!ended) co_return;  // then the waits cannot bring anything either
  }
}

Task<Result<std::vector<Message>>> QueueClient::take(std::string queue, Duration visibility, Duration wait,
                                                     std::string token, std::uint32_t count) {
  return rpc::call(transport_, calls::Receive{account_, std::move(queue), visibility, wait, std::move(token), count},
                   wait + kDeadline);
}

Task<Result<void>> QueueClient::renew(Lease lease, Duration visibility, std::optional<std::string> annotation,
                                      std::uint64_t sequence) {
  return rpc::call(transport_, calls::Renew{key_of(std::move(lease)), visibility, std::move(annotation), sequence},
                   kDeadline);
}

Task<Result<std::vector<std::string>>> QueueClient::finish(Lease lease, std::vector<FollowUp> follow_ups) {
  return rpc::call(transport_, calls::Finish{key_of(std::move(lease)), std::move(follow_ups)}, kDeadline);
}

Task<Result<void>> QueueClient::complete(Lease lease) {
  return rpc::call(transport_, calls::Complete{key_of(std::move(lease))}, kDeadline);
}

Task<Result<std::vector<bool>>> QueueClient::complete_all(std::string queue, std::vector<Lease> leases) {
  calls::CompleteAll all{account_, std::move(queue), {}};
  for (auto& lease : leases) all.leases.push_back(key_of(std::move(lease)));
  auto gone = CO_TRY(co_await rpc::call(transport_, all, kDeadline));
  if (gone.size() != leases.size()) co_return fail(ErrorCode::kInternalError);
  co_return gone;
}

Task<Result<void>> QueueClient::release(Lease lease, Duration delay, std::string annotation, bool count_attempt) {
  return rpc::call(transport_, calls::Release{key_of(std::move(lease)), delay, std::move(annotation), count_attempt},
                   kDeadline);
}

Task<Result<void>> QueueClient::move(Lease lease, std::string to_queue, std::string annotation) {
  MoveRequest move{.to_queue = std::move(to_queue), .annotation = std::move(annotation)};
  return rpc::call(transport_, calls::Move{key_of(std::move(lease)), std::move(move)}, kDeadline);
}

Task<Result<MessagePage>> QueueClient::list(std::string queue, std::uint32_t limit, std::string continuation) {
  return rpc::call(transport_, calls::ListMessages{account_, std::move(queue), limit, std::move(continuation)},
                   kDeadline);
}

Task<Result<std::optional<Message>>> QueueClient::find(std::string queue, std::string message_id) {
  return rpc::call(transport_, calls::Find{account_, std::move(queue), std::move(message_id)}, kDeadline);
}

Task<Result<void>> QueueClient::remove(std::string queue, std::string message_id) {
  return rpc::call(transport_, calls::Remove{account_, std::move(queue), std::move(message_id)}, kDeadline);
}

Task<Result<void>> QueueClient::redrive(std::string queue, std::string message_id, std::string to_queue,
                                        std::optional<std::string> text, std::string annotation) {
  MoveRequest move{.to_queue = std::move(to_queue),
                   .annotation = std::move(annotation),
                   .reset_dequeue_count = true,
                   .text = std::move(text)};
  return rpc::call(transport_, calls::Redrive{account_, std::move(queue), std::move(message_id), std::move(move)},
                   kDeadline);
}

Task<Result<QueueFigures>> QueueClient::figures(std::string queue) {
  return rpc::call(transport_, calls::Figures{account_, std::move(queue)}, kDeadline);
}

Task<Result<QueueFiguresPage>> QueueClient::all_figures(std::uint32_t limit, std::string continuation) {
  return rpc::call(transport_, calls::AllFigures{account_, limit, std::move(continuation)}, kDeadline);
}

Task<Result<void>> QueueClient::set_paused(std::string queue, bool paused) {
  return rpc::call(transport_, calls::SetPaused{account_, std::move(queue), paused}, kDeadline);
}

}  // namespace tidemark::queue_service
