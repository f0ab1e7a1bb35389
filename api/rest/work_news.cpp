#include "api/rest/work_news.h"

#include <algorithm>

namespace tidemark::api {
namespace {

constexpr Duration kBetweenNews = std::chrono::milliseconds(200);
constexpr Duration kNewsKept = std::chrono::minutes(1);
// A notice may be written a little later than one with a higher version.
constexpr Duration kLate = std::chrono::seconds(5);

table_store::Version before(table_store::Version version) {
  const auto span = static_cast<table_store::Version>(std::chrono::duration_cast<Ticks>(kLate).count());
  return version > span ? version - span : 0;
}

}  // namespace

std::shared_ptr<void> WorkNews::listen(const Executor& executor) {
  bool starts = false;
  {
    const MutexLock lock(mutex_);
    ++listeners_;
    starts = !std::exchange(looking_, true);
  }
  if (starts) spawn(executor, look(shared_from_this()));
  return {this, [self = shared_from_this()](void*) {
            const MutexLock lock(self->mutex_);
            --self->listeners_;
          }};
}

Task<void> WorkNews::look(std::shared_ptr<WorkNews> self) {
  std::optional<table_store::Version> from;
  for (;;) {
    {
      const MutexLock lock(self->mutex_);
      if (self->listeners_ == 0) self->looking_ = false;
      if (self->listeners_ == 0) co_return;
    }
    if (!from) {
      const auto now = co_await self->tables_.age_now();
      if (now) from = before(static_cast<table_store::Version>(now->time_since_epoch().count()));
    }
    if (from) {
      auto found = co_await self->notices_.since(*from);
      if (found && !found->empty()) {
        // A full page may end before the newest: go on behind it.
        from = found->size() < 1000 ? std::max(*from, before(found->back().version)) : found->back().version;
        self->add(std::move(*found));
      }
    }
    co_await sleep_for(self->clock_, kBetweenNews);
  }
}

void WorkNews::add(std::vector<jobs::CancelNotice> notices) {
  bool any = false;
  {
    const MutexLock lock(mutex_);
    const auto now = clock_.monotonic();
    while (!news_.empty() && now - news_.front().came > kNewsKept) news_.pop_front();
    for (auto& notice : notices) {
      const bool known = std::ranges::any_of(news_, [&](const News& each) {
        return each.notice.job_id == notice.job_id && each.notice.version == notice.version;
      });
      if (known) continue;
      news_.push_back({std::move(notice), now});
      ++count_;
      any = true;
    }
  }
  if (any) changed_.notify_all();
}

std::uint64_t WorkNews::place() {
  const MutexLock lock(mutex_);
  return count_;
}

std::vector<jobs::CancelNotice> WorkNews::since(std::uint64_t& place, const std::string& worker) {
  const MutexLock lock(mutex_);
  std::vector<jobs::CancelNotice> out;
  const auto unseen = std::min<std::uint64_t>(count_ - std::min(place, count_), news_.size());
  for (auto i = news_.size() - unseen; i < news_.size(); ++i) {
    if (news_[i].notice.worker == worker) out.push_back(news_[i].notice);
  }
  place = count_;
  return out;
}

Task<void> WorkNews::wait(Duration timeout) { co_await changed_.wait(clock_, timeout); }

}  // namespace tidemark::api
