// Waits for messages of queues that other processes serve, and the end of waits before their time.
#include "queue_service/storage/queue_core.h"
#include "queue_service/storage/served_calls.h"

namespace tidemark::queue_service {
namespace {

/// How soon a wait in another process ends after its client has gone, or this process has begun to stop.
constexpr Duration kLookAtClient = std::chrono::milliseconds(250);

/// A wait in another process, as long as its call is on its way.
struct WaitElsewhere {
  std::string token;
  std::function<bool()> useless;  // called only before the end
  Signal ended = {};
};

/// Cancels the wait once it is useless.
Task<void> watch(std::shared_ptr<WaitElsewhere> wait, shards::Peers& peers, Clock& clock) {
  constexpr Signal::Ticket kBegun = 0;
  while (!co_await wait->ended.wait(kBegun, clock, kLookAtClient)) {
    if (wait->ended.ticket() != kBegun) co_return;
    if (!wait->useless()) continue;
    const calls::CancelWaitHere cancel{wait->token};
    co_await peers.tell_others(std::string(calls::CancelWaitHere::kMethod), wire::encode(cancel));
    co_return;
  }
}

}  // namespace

Task<Result<std::vector<TakenMessage>>> QueueService::get_anywhere(std::string account, std::string queue,
                                                                   TakeRequest request, WaitRequest wait) {
  if (core_->here(core_->of(account, queue))) {
    co_return co_await get(std::move(account), std::move(queue), request, std::move(wait));
  }
  calls::Take take{std::move(account), std::move(queue), request, std::min(wait.span, kMaxReceiveWait), wait.token};
  if (take.wait <= Duration::zero() || !wait.gone) co_return co_await call(std::move(take));
  if (take.token.empty()) take.token = core_->random.guid();
  const auto useless = [core = core_, gone = std::move(wait.gone)] { return core->stopping.load() || gone(); };
  const auto elsewhere = std::make_shared<WaitElsewhere>(take.token, useless);
  spawn(co_await asio::this_coro::executor, watch(elsewhere, *core_->stored.peers, core_->clock));
  auto taken = co_await call(std::move(take));
  elsewhere->ended.notify_all();
  co_return taken;
}

void QueueService::cancel_wait(const std::string& token) { core_->waits.cancel(token); }

Task<Result<void>> QueueService::cancel_wait_anywhere(std::string token) {
  cancel_wait(token);
  const calls::CancelWaitHere cancel{std::move(token)};
  if (core_->stored.peers != nullptr) {
    co_await core_->stored.peers->tell_others(std::string(calls::CancelWaitHere::kMethod), wire::encode(cancel));
  }
  co_return Result<void>{};
}

}  // namespace tidemark::queue_service
