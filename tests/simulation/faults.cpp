#include "tests/simulation/faults.h"

#include <algorithm>

namespace tidemark::simulation {

using namespace std::chrono_literals;

void Faults::start(std::function<void(int host)> crash, std::vector<std::pair<int, Duration>> freezable) {
  crash_ = std::move(crash);
  freezable_ = std::move(freezable);
  calm_ = false;
  plan_crash();
  plan_freeze();
  plan_jump();
}

void Faults::stop() {
  calm_ = true;
  for (int i = 0; i < scheduler_.host_count(); ++i) {
    scheduler_.host(i).doom = -1;
    scheduler_.host(i).frozen = false;
  }
}

void Faults::strike(int host, std::uint64_t chance, std::uint64_t handlers) {
  auto& dice = scheduler_.dice();
  if (calm_ || gaps_.crash == Duration::zero() || !dice.chance(chance)) return;
  if (scheduler_.host(host).life) scheduler_.host(host).doom = static_cast<int>(dice.below(handlers));
}

void Faults::plan_crash() {
  if (gaps_.crash == Duration::zero()) return;
  scheduler_.after(scheduler_.dice().between(10ms, gaps_.crash), [this] {
    if (calm_) return;
    const auto victim = static_cast<int>(scheduler_.dice().below(static_cast<std::uint64_t>(scheduler_.host_count())));
    if (scheduler_.host(victim).life) crash_(victim);
    plan_crash();
  });
}

void Faults::plan_freeze() {
  if (gaps_.freeze == Duration::zero()) return;
  scheduler_.after(scheduler_.dice().between(10ms, gaps_.freeze), [this] {
    if (calm_) return;
    auto& dice = scheduler_.dice();
    const auto [victim, lease] = freezable_[dice.below(freezable_.size())];
    auto& host = scheduler_.host(victim);
    if (host.life) {
      scheduler_.trace().note(scheduler_.now(), "freeze", host.name, nullptr);
      host.frozen = true;
      scheduler_.after(dice.between(lease / 4, lease * 3), [this, &host] {
        scheduler_.trace().note(scheduler_.now(), "continue", host.name, nullptr);
        host.frozen = false;
      });
    }
    plan_freeze();
  });
}

void Faults::plan_jump() {
  if (gaps_.jump == Duration::zero()) return;
  scheduler_.after(scheduler_.dice().between(10ms, gaps_.jump), [this] {
    if (calm_) return;
    auto& dice = scheduler_.dice();
    auto& host = scheduler_.host(static_cast<int>(dice.below(static_cast<std::uint64_t>(scheduler_.host_count()))));
    // Mostly by about a lease; now and then further than anything waits.
    const auto far = dice.chance(500) ? Duration(10min) : dice.chance(3000) ? Duration(1min) : jump_ * 2;
    const auto by = dice.between(-std::min<Duration>(far, 1min), far);
    if (host.life) {
      scheduler_.trace().note(scheduler_.now(), "clock", host.name,
                              [&] { return host.name + " by " + std::to_string(by / 1ms) + " ms"; });
      host.life->jump_clock(by);
    }
    plan_jump();
  });
}

}  // namespace tidemark::simulation
