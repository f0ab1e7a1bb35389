// Tells streams of events which jobs of a worker were cancelled. One coroutine looks for new notices while anybody
// listens, for all streams. Thread safe.
#pragma once
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "common/base/mutex.h"
#include "jobs/store/cancel_notices.h"

namespace tidemark::api {

class WorkNews : public std::enable_shared_from_this<WorkNews> {
 public:
  WorkNews(table_store::TableClient& tables, Clock& clock) : notices_(tables), tables_(tables), clock_(clock) {}

  /// A listener holds the result as long as it listens.
  std::shared_ptr<void> listen(const Executor& executor);
  /// Returns the notices for a worker that came after the `place`, which then is the present one.
  std::vector<jobs::CancelNotice> since(std::uint64_t& place, const std::string& worker);
  /// Returns the present place.
  [[nodiscard]] std::uint64_t place();
  /// Returns when there may be news, or after `timeout`.
  Task<void> wait(Duration timeout);

 private:
  struct News {
    jobs::CancelNotice notice;
    Duration came;
  };
  static Task<void> look(std::shared_ptr<WorkNews> self);
  void add(std::vector<jobs::CancelNotice> notices);

  jobs::CancelNotices notices_;
  table_store::TableClient& tables_;
  Clock& clock_;
  Signal changed_;
  Mutex mutex_;
  std::deque<News> news_ GUARDED_BY(mutex_);
  std::uint64_t count_ GUARDED_BY(mutex_) = 0;  // all news so far; news_ has the last of them
  std::size_t listeners_ GUARDED_BY(mutex_) = 0;
  bool looking_ GUARDED_BY(mutex_) = false;
};

}  // namespace tidemark::api
