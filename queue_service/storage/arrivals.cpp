#include "queue_service/storage/arrivals.h"

#include <boost/asio/async_result.hpp>
#include <boost/asio/post.hpp>

namespace tidemark::queue_service {

std::shared_ptr<Arrivals::Gate> Arrivals::open(const std::string& account, const std::string& queue) {
  MutexLock lock(mutex_);
  if (gates_.size() >= prune_at_) {
    std::erase_if(gates_, [](const auto& entry) { return entry.second.expired(); });
    prune_at_ = std::max(kPruneAtLeast, 2 * gates_.size());
  }
  auto& slot = gates_[{account, queue}];
  auto gate = slot.lock();
  if (!gate) {
    gate = std::make_shared<Gate>(clock_);
    slot = gate;
  }
  return gate;
}

std::shared_ptr<Arrivals::Gate> Arrivals::find(const std::string& account, const std::string& queue) {
  MutexLock lock(mutex_);
  const auto found = gates_.find({account, queue});
  if (found == gates_.end()) return nullptr;
  auto gate = found->second.lock();
  if (!gate) gates_.erase(found);
  return gate;
}

std::size_t Arrivals::remembered() const {
  MutexLock lock(mutex_);
  return gates_.size();
}

void Arrivals::came(const std::string& account, const std::string& queue) {
  if (auto gate = find(account, queue)) gate->came();
}
void Arrivals::will_come(const std::string& account, const std::string& queue, Time due) {
  if (auto gate = find(account, queue)) gate->will_come(due);
}
void Arrivals::changed(const std::string& account, const std::string& queue) {
  if (auto gate = find(account, queue)) gate->changed();
}

void Arrivals::changed_everywhere() {
  std::vector<std::shared_ptr<Gate>> open_gates;
  {
    MutexLock lock(mutex_);
    for (auto& [name, slot] : gates_) {
      if (auto gate = slot.lock()) open_gates.push_back(std::move(gate));
    }
  }
  for (auto& gate : open_gates) gate->changed();
}

struct Arrivals::Gate::Waiter {
  std::function<void(bool)> resume;  // empty once used
  std::shared_ptr<Timer> timeout;
  Executor executor;
};

Arrivals::Gate::~Gate() {
  if (timer_) timer_->cancel();
}

std::uint64_t Arrivals::Gate::ticket() const {
  MutexLock lock(mutex_);
  return events_;
}

Task<bool> Arrivals::Gate::wait(std::uint64_t ticket, Duration timeout) {
  auto executor = co_await asio::this_coro::executor;
  auto self = shared_from_this();
  auto initiate = [self, ticket, timeout, executor](auto handler) {
    auto cell = std::make_shared<decltype(handler)>(std::move(handler));
    auto waiter = std::make_shared<Waiter>();
    waiter->executor = executor;
    waiter->resume = [cell](bool woken) { std::move (*cell)(woken); };
    MutexLock lock(self->mutex_);
    if (self->events_ != ticket) return self->resume(waiter, true);
    self->waiters_.push_back(waiter);
    // The gate lives as long as its waiters; the timer must not keep it alive.
    std::weak_ptr<Gate> weak_gate = self;
    std::weak_ptr<Waiter> weak = waiter;
    waiter->timeout = self->clock_.call_after(timeout, executor, [weak_gate, weak] {
      auto gate = weak_gate.lock();
      auto expired = weak.lock();
      if (!gate || !expired) return;
      MutexLock inner(gate->mutex_);
      gate->waiters_.remove(expired);
      gate->resume(expired, false);
    });
    self->arm();
  };
  co_return co_await asio::async_initiate<decltype(asio::use_awaitable), void(bool)>(initiate, asio::use_awaitable);
}

// Resumes always through the executor: the caller may be the engine's thread, and holds mutex_.
void Arrivals::Gate::resume(const std::shared_ptr<Waiter>& waiter, bool woken) {
  auto call = std::exchange(waiter->resume, nullptr);
  if (waiter->timeout && woken) waiter->timeout->cancel();
  if (call) asio::post(waiter->executor, [call = std::move(call), woken] { call(woken); });
}

bool Arrivals::Gate::needs_due() {
  MutexLock lock(mutex_);
  return !std::exchange(due_known_, true);
}

bool Arrivals::Gate::is_turn(Duration interval) {
  MutexLock lock(mutex_);
  const auto now = clock_.monotonic();
  if (last_turn_ && now < *last_turn_ + interval) return false;
  last_turn_ = now;
  return true;
}

void Arrivals::Gate::came() {
  MutexLock lock(mutex_);
  ++events_;
  if (waiters_.empty()) return;
  auto waiter = waiters_.front();
  waiters_.pop_front();
  resume(waiter, true);
}

void Arrivals::Gate::changed() {
  MutexLock lock(mutex_);
  ++events_;
  for (auto& waiter : std::exchange(waiters_, {})) resume(waiter, true);
}

void Arrivals::Gate::will_come(Time due) {
  MutexLock lock(mutex_);
  if (due_ && *due_ <= due) return;
  due_ = due;
  arm();
}

void Arrivals::Gate::arm() {
  if (!due_ || waiters_.empty() || (armed_for_ && *armed_for_ <= *due_)) return;
  if (timer_) timer_->cancel();
  armed_for_ = due_;
  const auto delay = std::max(*due_ - clock_.now(), Duration(1));
  std::weak_ptr<Gate> weak = weak_from_this();
  timer_ = clock_.call_after(delay, waiters_.front()->executor, [weak, due = *due_] {
    auto gate = weak.lock();
    if (!gate) return;
    {
      MutexLock lock(gate->mutex_);
      if (gate->armed_for_ != due) return;
      gate->armed_for_.reset();
      gate->due_.reset();
      gate->due_known_ = false;  // the next look at the queue finds the next due message
    }
    gate->changed();
  });
}

}  // namespace tidemark::queue_service
