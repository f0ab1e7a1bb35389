#include "common/service/quota_watch.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include "common/process/failures.h"

namespace tidemark::service {
namespace {

constexpr auto kInterval = std::chrono::seconds(10);
constexpr auto kAfterRefusal = std::chrono::seconds(1);
/// The thread rests so many times as long as a measurement took.
constexpr int kRest = 9;
/// A count, which takes long, rests in between for so many times as long as it reads.
constexpr int kRestOfCount = 3;

}  // namespace

QuotaWatch::QuotaWatch(std::vector<MeasuredShard> shards, Quotas& quotas, Holdings holdings)
    : shards_(std::move(shards)), quotas_(quotas), holdings_(std::move(holdings)) {
  estimate_all();
  quotas_.when_to_measure([this] {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(wanted_, true)) changed_.notify_all();
  });
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void QuotaWatch::stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

QuotaWatch::Clock::time_point QuotaWatch::Turn::next(bool soon) const {
  return ended + std::max<Clock::duration>(soon ? kAfterRefusal : kInterval, kRest * took);
}

bool QuotaWatch::wanted_soon() const {
  const std::lock_guard lock(mutex_);
  return wanted_;
}

void QuotaWatch::run(const std::stop_token& stop) {
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), 19);  // the priority of this thread
  while (!stop.stop_requested()) {
    count_those_near(stop);
    {
      std::unique_lock lock(mutex_);
      changed_.wait_until(lock, stop, estimated_.next(false), [this] { return wanted_; });
      changed_.wait_until(lock, stop, estimated_.next(wanted_), [] { return false; });
    }
    if (!stop.stop_requested()) estimate_all();
  }
}

void QuotaWatch::estimate_all() {
  const auto begun = Clock::now();
  for (const auto& account : quotas_.accounts()) {
    const auto ticket = quotas_.begin_measure(account);
    const auto amounts = estimate(shards_, holdings_, account);
    if (amounts) {
      quotas_.publish(account, Quotas::Measure::kEstimate, ticket, *amounts);
    } else {
      process::log_failed_task("quotas.estimate", amounts.error());
    }
  }
  estimated_ = {Clock::now(), Clock::now() - begun};
}

void QuotaWatch::count_those_near(const std::stop_token& stop) {
  bool waiting = false;
  const bool soon = wanted_soon();
  for (const auto& account : quotas_.accounts()) {
    if (stop.stop_requested()) return;
    if (!quotas_.needs_count(account)) {
      counted_.erase(account);
    } else if (const auto last = counted_.find(account);
               last == counted_.end() || Clock::now() >= last->second.next(soon)) {
      count_one(account, stop);
    } else {
      waiting = true;
    }
  }
  const std::lock_guard lock(mutex_);
  wanted_ = wanted_ && waiting;
}

void QuotaWatch::count_one(const std::string& account, const std::stop_token& stop) {
  const auto begun = Clock::now();
  auto slice = begun;
  const auto ticket = quotas_.begin_measure(account);
  const auto amounts = count(shards_, holdings_, [&](std::uint64_t) { return pace(slice, stop); }, account);
  if (amounts) {
    quotas_.publish(account, Quotas::Measure::kCount, ticket, *amounts);
  } else if (!amounts.failed_with(ErrorCode::kCancelled)) {
    process::log_failed_task("quotas.count", amounts.error());
  }
  counted_[account] = {Clock::now(), Clock::now() - begun};
}

/// Rests after each slice, and keeps the estimates of all accounts fresh. Returns false when the store ends.
bool QuotaWatch::pace(Clock::time_point& slice, const std::stop_token& stop) {
  {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, stop, kRestOfCount * (Clock::now() - slice), [] { return false; });
  }
  if (stop.stop_requested()) return false;
  if (Clock::now() >= estimated_.next(false)) estimate_all();
  slice = Clock::now();
  return true;
}

}  // namespace tidemark::service
