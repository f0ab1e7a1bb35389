#include "common/kv/age_clock.h"

#include <algorithm>

#include "common/kv/key_codec.h"

namespace tidemark::kv {
namespace {

std::optional<Time> kept_in(const Engine& engine) {
  const auto stored = engine.get(kAgeKey);
  if (!stored || !*stored) return std::nullopt;
  std::string_view rest = **stored;
  const auto ticks = take_u64(rest);
  if (!ticks) return std::nullopt;
  return Time(Ticks(static_cast<std::int64_t>(*ticks)));
}

}  // namespace

AgeClock::AgeClock(Engine& engine, Clock& clock) : engine_(engine), clock_(clock) {
  const auto now = clock.now();
  const auto kept = kept_in(engine);
  set(kept ? std::clamp(now, *kept, *kept + kBelievedPause) : now, clock.monotonic());
}

Time AgeClock::now() const { return std::min(clock_.now(), bound(clock_.monotonic())); }

void AgeClock::set(Time reached, Duration monotonic) {
  reached_ = reached;
  kept_at_ = monotonic;
  bound_.store((reached.time_since_epoch() - 2 * monotonic).count());
}

Task<Result<void>> AgeClock::keep() {
  const auto monotonic = clock_.monotonic();
  const auto now = clock_.now();
  // While the wall clock is behind, time still passes: once the wall clock is right again, it is believed at once.
  set(now < reached_ ? reached_ + (monotonic - kept_at_) : std::min(now, bound(monotonic)), monotonic);
  const auto ticks = static_cast<std::uint64_t>(reached_.time_since_epoch().count());
  co_return co_await engine_.transact([ticks](Transaction& txn) -> Result<void> {
    txn.put(kAgeKey, key(ticks));
    return {};
  });
}

}  // namespace tidemark::kv
