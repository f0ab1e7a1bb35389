#include "workers/runtime/lease.h"

#include "workers/runtime/fail_points.h"

namespace tidemark::workers {

HeldLease::HeldLease(queue_service::QueueClient& queues, Clock& clock, queue_service::Lease lease, Duration length,
                     Time taken)
    : queues_(queues),
      clock_(clock),
      lease_(std::move(lease)),
      length_(length),
      valid_until_(taken + length),
      sent_(taken) {}

void HeldLease::start(Executor strand) {
  beating_ = true;
  spawn(std::move(strand), beat(shared_from_this()));
}

void HeldLease::set_annotation(std::string annotation) {
  const bool first = !pending_;
  pending_ = std::move(annotation);
  if (first) wake_.notify_all();
}

bool HeldLease::lost_after(Duration span) const { return lost_ || clock_.now() + span >= valid_until_; }

Task<void> HeldLease::stop() {
  stopping_ = true;
  wake_.notify_all();
  while (beating_) {
    co_await ended_.wait(clock_, length_);
  }
}

Task<Result<void>> HeldLease::renew_now(std::string annotation) {
  // Two renewals under way could arrive in either order, and the older annotation would stay.
  while (renewing_) {
    co_await ended_.wait(clock_, length_);
  }
  pending_.reset();
  co_return co_await renew(std::move(annotation));
}

Task<Result<void>> HeldLease::renew(std::optional<std::string> annotation) {
  const auto sent = sent_ = clock_.now();
  renewing_ = true;
  auto renewed =
      co_await fail_points::kRenew.around(queues_.renew(lease_, length_, std::move(annotation), ++renewals_));
  renewing_ = false;
  failed_ = !renewed;
  ended_.notify_all();
  if (renewed) {
    valid_until_ = std::max(valid_until_, sent + length_);
  } else if (renewed.error().code == ErrorCode::kLeaseLost || renewed.error().code == ErrorCode::kMessageNotFound ||
             renewed.error().code == ErrorCode::kQueueNotFound) {
    lost_ = true;
  }
  co_return renewed;
}

Duration HeldLease::pause() const {
  auto interval = failed_ ? length_ / 12 : length_ / 3;
  if (pending_) interval = std::min<Duration>(interval, kNoteInterval);
  // Clamped, because somebody may set the clock.
  return std::clamp<Duration>(sent_ + interval - clock_.now(), Duration::zero(), interval);
}

Task<void> HeldLease::beat(std::shared_ptr<HeldLease> self) {
  while (!self->stopping_ && !self->lost()) {
    if (self->renewing_) {
      co_await self->ended_.wait(self->clock_, self->length_);
      continue;
    }
    const auto pause = self->pause();
    if (pause > Duration::zero()) {
      // Woken by stop(), and by the first annotation after a renewal: that may shorten the pause.
      const bool woken = co_await self->wake_.wait(self->clock_, pause);
      if (woken || self->renewing_ || self->stopping_) continue;
    }
    auto annotation = std::exchange(self->pending_, std::nullopt);
    auto copy = annotation;
    auto renewed = co_await self->renew(std::move(copy));
    // An annotation that may not have arrived goes again, unless there is a newer one by now.
    if (!renewed && !self->pending_) self->pending_ = std::move(annotation);
  }
  self->beating_ = false;
  self->ended_.notify_all();
}

}  // namespace tidemark::workers
