#include "jobs/poison/poison_summary.h"

#include <algorithm>

#include "common/base/encoding.h"
#include "common/base/text.h"

namespace tidemark::jobs {
namespace {

using queue_service::Message;
using queue_service::QueueFigures;

constexpr Duration kPatience = std::chrono::milliseconds(200);
/// After a count that took longer than this, the next one waits for kRestShare times as long.
constexpr Duration kShortWalk = std::chrono::milliseconds(100);
constexpr int kRestShare = 20;
constexpr std::uint32_t kPage = 250;  // parsing it delays other requests by some milliseconds at most
constexpr std::size_t kSamples = 5;
constexpr std::size_t kReasonBytes = 1000;

std::uint64_t hash_of(const Message& message) {
  const std::hash<std::string_view> hash;
  std::uint64_t out = hash(message.id);
  for (const std::string_view part : {message.text, message.annotation}) {
    out = (out * 0x9E3779B97F4A7C15U) ^ hash(part);
  }
  return out;
}

bool unchanged(const QueueFigures& a, const QueueFigures& b) {
  return a.messages == b.messages && a.put == b.put && a.taken == b.taken && a.finished == b.finished &&
         a.moved == b.moved && a.expired == b.expired;
}

bool in_time(const PoisonFilter& filter, const std::optional<Time>& moved) {
  // A message that a person put into the queue by hand has no time.
  const auto at = moved.value_or(Time{});
  return (!filter.moved_after || at >= *filter.moved_after) && (!filter.moved_before || at < *filter.moved_before);
}

void add_time(SummedGroup& into, const std::optional<Time>& moved, Time now) {
  ++into.group.count;
  if (!moved) return;
  auto& group = into.group;
  group.first_moved_at = std::min(group.first_moved_at.value_or(*moved), *moved);
  group.last_moved_at = std::max(group.last_moved_at.value_or(*moved), *moved);
  const auto hours = std::max<std::int64_t>(0, (now - *moved) / std::chrono::hours(1));
  if (hours < static_cast<std::int64_t>(kTrendHours)) ++into.trend[kTrendHours - 1 - static_cast<std::size_t>(hours)];
}

}  // namespace

Task<Result<PoisonSum>> PoisonSummary::read(PoisonFilter which) {
  const auto arrived = clock_.monotonic();
  for (;;) {
    bool starts = false;
    Signal::Ticket ticket = 0;
    {
      MutexLock lock(mutex_);
      if (auto answer = known(which, arrived)) co_return std::move(*answer);
      starts = running_ == nullptr;
      if (starts) running_ = begin();
      ticket = told_.ticket();
    }
    if (starts) spawn(co_await asio::this_coro::executor, count(shared_from_this()));
    const auto left = arrived + kPatience - clock_.monotonic();
    if (left > Duration::zero() && co_await told_.wait(ticket, clock_, left)) continue;
    MutexLock lock(mutex_);
    const auto& latest = done_ ? done_ : running_;
    if (latest) co_return sum(*latest, which);
    co_return failed_ ? fail(failed_->second) : fail(ErrorCode::kUnavailable);
  }
}

std::shared_ptr<PoisonSummary::Tally> PoisonSummary::begin() const {
  auto tally = std::make_shared<Tally>();
  tally->begun = clock_.monotonic();
  tally->as_of = clock_.now();
  return tally;
}

std::optional<Result<PoisonSum>> PoisonSummary::known(const PoisonFilter& which, Duration arrived) {
  if (failed_ && failed_->first >= arrived) return fail(failed_->second);
  if (!done_) return std::nullopt;
  const auto rest = done_->took < kShortWalk ? Duration::zero() : done_->took * kRestShare;
  const bool fresh = done_->begun >= arrived || arrived < done_->begun + done_->took + rest;
  return fresh ? std::optional<Result<PoisonSum>>(sum(*done_, which)) : std::nullopt;
}

PoisonSum PoisonSummary::sum(const Tally& tally, const PoisonFilter& which) const {
  std::vector<SummedGroup> groups(tally.kinds.size());
  const auto now = clock_.now();
  for (const auto& [hash, counted] : tally.messages) {
    if (in_time(which, counted.moved)) add_time(groups[counted.kind], counted.moved, now);
  }
  PoisonSum out{{}, tally.complete, tally.messages.size(), tally.as_of};
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const auto& kind = tally.kinds[i];
    auto& group = groups[i].group;
    const bool wanted = (which.kind.empty() || which.kind == kind.kind) &&
                        (which.source.empty() || iequals_ascii(which.source, kind.source)) &&
                        (which.fingerprint.empty() || which.fingerprint == kind.fingerprint);
    if (!wanted || group.count == 0) continue;
    group.kind = kind.kind;
    group.source = kind.source;
    group.fingerprint = kind.fingerprint;
    group.reason = kind.reason;
    for (const auto& [id, moved] : kind.samples) {
      if (in_time(which, moved)) group.samples.push_back(id);
    }
    out.groups.push_back(std::move(groups[i]));
  }
  std::ranges::stable_sort(out.groups, std::greater(), [](const SummedGroup& each) { return each.group.count; });
  return out;
}

Task<void> PoisonSummary::count(std::shared_ptr<PoisonSummary> self) {
  std::shared_ptr<Tally> tally, before;
  {
    MutexLock lock(self->mutex_);
    tally = self->running_;
    before = self->done_;
  }
  const auto changed = co_await self->walk(tally, before);
  {
    MutexLock lock(self->mutex_);
    self->running_ = nullptr;
    if (!changed) {
      self->failed_.emplace(tally->begun, changed.error());
    } else if (*changed) {
      tally->took = self->clock_.monotonic() - tally->begun;
      self->done_ = tally;
    } else {
      self->done_->begun = tally->begun;
      self->done_->as_of = tally->as_of;
    }
  }
  self->told_.notify_all();
}

Task<Result<bool>> PoisonSummary::walk(std::shared_ptr<Tally> tally, std::shared_ptr<const Tally> before) {
  auto figures = co_await queues_.figures(std::string(kPoisonQueue));
  if (figures.failed_with(ErrorCode::kQueueNotFound)) figures = QueueFigures{};
  tally->figures = CO_TRY(std::move(figures));
  if (before && unchanged(before->figures, tally->figures)) co_return false;
  std::string continuation;
  std::uint64_t seen = 0;
  do {
    auto page = co_await queues_.list(std::string(kPoisonQueue), kPage, std::move(continuation));
    if (page.failed_with(ErrorCode::kQueueNotFound)) page = queue_service::MessagePage{};
    auto found = CO_TRY(std::move(page));
    MutexLock lock(mutex_);
    for (const auto& message : found.messages) add(*tally, before.get(), message);
    seen += found.messages.size();
    continuation = std::move(found.continuation);
  } while (!continuation.empty() && seen < kMaxGroupedMessages);
  MutexLock lock(mutex_);
  tally->complete = continuation.empty() && tally->kinds.size() < kMaxSummedGroups;
  co_return true;
}

void PoisonSummary::add(Tally& tally, const Tally* before, const Message& message) {
  const auto hash = hash_of(message);
  Kind kind;
  Counted counted;
  const auto known = before != nullptr ? before->messages.find(hash) : decltype(before->messages.end()){};
  if (before != nullptr && known != before->messages.end()) {
    counted.moved = known->second.moved;
    const auto& same = before->kinds[known->second.kind];
    kind = {same.kind, same.source, same.fingerprint, same.reason, {}};
  } else {
    auto record = poison_record_of(message);
    counted.moved = record.moved_at;
    kind = {std::move(record.kind),
            std::move(record.source),
            std::move(record.fingerprint),
            std::string(beginning_of(record.reason, kReasonBytes)),
            {}};
  }
  const auto [place, is_new] = tally.by_name.try_emplace(
      kind.kind + "/" + to_lower_ascii(kind.source) + "/" + kind.fingerprint, tally.kinds.size());
  if (is_new && tally.kinds.size() == kMaxSummedGroups) {
    tally.by_name.erase(place);
    return;
  }
  if (is_new) tally.kinds.push_back(std::move(kind));
  counted.kind = place->second;
  auto& samples = tally.kinds[counted.kind].samples;
  if (samples.size() < kSamples) samples.emplace_back(message.id, counted.moved.value_or(Time{}));
  tally.messages.emplace(hash, counted);
}

}  // namespace tidemark::jobs
