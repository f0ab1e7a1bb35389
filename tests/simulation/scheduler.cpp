#include "tests/simulation/scheduler.h"

#include <boost/asio/post.hpp>

namespace tidemark::simulation {
namespace {

/// The most events at one moment.
constexpr std::size_t kMostEvents = 100'000;

}  // namespace

std::uint64_t Dice::next() {
  state_ += 0x9E3779B97F4A7C15ULL;
  auto z = state_;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

/// Virtual time, with the host's own error. In a dead life timers fire at once and time runs ahead with them, so that
/// every wait comes to its end, also one for a condition until a deadline.
class Life::LifeClock final : public Clock {
 public:
  LifeClock(Scheduler& scheduler, Life& life, Duration skew) : scheduler_(scheduler), life_(life), skew_(skew) {}

  Time now() const override { return scheduler_.now() + skew_ + ahead_; }

  Duration monotonic() const override { return scheduler_.now().time_since_epoch() + ahead_; }

  void jump(Duration by) { skew_ += by; }

  std::shared_ptr<Timer> call_after(Duration delay, Executor executor, std::function<void()> fn) override {
    const auto id = next_++;
    auto timer = std::make_shared<LifeTimer>(*this, id, std::move(executor), std::move(fn));
    if (life_.dead()) {
      ahead_ += std::max(delay, Duration(1));
      timer->fire();
      return timer;
    }
    timers_.emplace(id, timer);
    scheduler_.after(delay, [scheduler = &scheduler_, host = life_.host(), number = life_.number(), id] {
      auto* life = scheduler->find_life(host, number);
      if (life != nullptr) life->clock_->expire(id);
    });
    return timer;
  }

  void expire(std::uint64_t id) {
    const auto found = timers_.find(id);
    if (found == timers_.end()) return;
    auto timer = std::move(found->second);
    timers_.erase(found);
    timer->fire();
  }
  void expire_all() {
    ahead_ += std::chrono::hours(1);
    while (!timers_.empty()) expire(timers_.begin()->first);
  }

 private:
  class LifeTimer final : public Timer, public std::enable_shared_from_this<LifeTimer> {
   public:
    LifeTimer(LifeClock& clock, std::uint64_t id, Executor executor, std::function<void()> fn)
        : clock_(clock), id_(id), executor_(std::move(executor)), fn_(std::move(fn)) {}
    void cancel() override {
      fn_ = nullptr;
      clock_.timers_.erase(id_);
    }
    void fire() {
      asio::post(executor_, [self = shared_from_this()] {
        auto fn = std::exchange(self->fn_, nullptr);
        if (fn) fn();
      });
    }

   private:
    LifeClock& clock_;
    std::uint64_t id_;
    Executor executor_;
    std::function<void()> fn_;
  };

  Scheduler& scheduler_;
  Life& life_;
  Duration skew_;
  Duration ahead_{};
  std::uint64_t next_ = 0;
  std::map<std::uint64_t, std::shared_ptr<LifeTimer>> timers_;
};

Life::Life(Scheduler& scheduler, int host, std::uint64_t number, Duration skew)
    : host_(host),
      number_(number),
      clock_(std::make_unique<LifeClock>(scheduler, *this, skew)),
      io_(BOOST_ASIO_CONCURRENCY_HINT_UNSAFE),
      guard_(asio::make_work_guard(io_)) {}

Life::~Life() { kill(); }

Clock& Life::clock() { return *clock_; }

void Life::jump_clock(Duration by) { clock_->jump(by); }

void Life::kill() {
  if (dead_) return;
  dead_ = true;
  while (!calls_.empty()) end_call(calls_.begin()->first, fail(ErrorCode::kUnavailable));
  clock_->expire_all();
  if (program) program->unwind();
  while (io_.poll() > 0) {
  }
  program.reset();
}

std::uint64_t Life::add_call(std::shared_ptr<PendingCall> call) {
  const auto id = next_call_++;
  calls_.emplace(id, std::move(call));
  return id;
}

void Life::end_call(std::uint64_t id, Result<std::string> result) {
  const auto found = calls_.find(id);
  if (found == calls_.end()) return;
  auto call = std::move(found->second);
  calls_.erase(found);
  if (call->deadline) call->deadline->cancel();
  asio::post(call->executor,
             [resume = std::move(call->resume), outcome = std::move(result)]() mutable { resume(std::move(outcome)); });
}

void Life::end_calls_to(int callee, const Error& error) {
  std::vector<std::uint64_t> ended;
  for (const auto& [id, call] : calls_) {
    if (call->callee == callee) ended.push_back(id);
  }
  for (const auto id : ended) end_call(id, fail(error));
}

void Scheduler::end_all() {
  for (auto& host : hosts_) host->life.reset();
}

void Scheduler::after(Duration delay, std::function<void()> event) {
  auto run = std::make_shared<std::function<void()>>(std::move(event));
  events_.push({now_ + std::max(delay, Duration::zero()), dice_.next(), sequence_++, std::move(run)});
}

int Scheduler::add_host(std::string name) {
  hosts_.push_back(std::make_unique<Host>());
  hosts_.back()->name = std::move(name);
  order_.push_back(static_cast<int>(order_.size()));
  return host_count() - 1;
}

Life& Scheduler::start_life(int index, Duration skew) {
  auto& place = host(index);
  place.doom = -1;
  place.frozen = false;
  place.life = std::make_unique<Life>(*this, index, ++place.lives, skew);
  trace_.note(now_, "start", place.name, nullptr);
  return *place.life;
}

void Scheduler::crash(int index) {
  auto& place = host(index);
  if (!place.life) return;
  trace_.note(now_, "crash", place.name, nullptr);
  place.doom = -1;
  place.frozen = false;
  // The host loses its life first, so that nobody finds a life that is unwinding.
  auto life = std::move(place.life);
  life->kill();
  life.reset();
  if (on_crash) on_crash(index);
}

Life* Scheduler::find_life(int index, std::uint64_t number) {
  auto& place = host(index);
  return place.life && place.life->number() == number ? place.life.get() : nullptr;
}

void Scheduler::run_ready() {
  bool busy = true;
  while (busy) {
    busy = false;
    for (auto i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[dice_.below(i)]);
    for (const auto index : order_) {
      auto& place = host(index);
      if (!place.life || place.frozen || !place.life->run_one()) continue;
      busy = true;
      if (place.doom >= 0 && place.doom-- == 0) crash(index);
    }
  }
}

bool Scheduler::run_until(Time limit, const std::function<bool()>& done) {
  run_ready();
  std::size_t at_this_moment = 0;
  while (!done()) {
    if (events_.empty() || events_.top().at > limit) return false;
    at_this_moment = events_.top().at == now_ ? at_this_moment + 1 : 0;
    if (at_this_moment > kMostEvents) trace_.violation(now_, "somebody goes on without ever waiting");
    now_ = events_.top().at;
    const auto run = events_.top().run;
    events_.pop();
    (*run)();
    run_ready();
  }
  return true;
}

}  // namespace tidemark::simulation
