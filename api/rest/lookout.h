// The queues and readers of changes that need attention, reported at once however many there are. A walk over all of
// them runs in the background, when somebody asks and the last walk is some time ago. Its findings are a hint, with the
// time at which they were made. Thread safe.
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/rest/feed_lags.h"
#include "common/base/mutex.h"
#include "queue_service/model/queue_figures.h"

namespace tidemark::api {

struct Remarkable {
  /// Queues with poison, paused queues, and queues whose next message has waited for long; the worst first, at most
  /// kMostTold.
  std::vector<std::pair<std::string, queue_service::QueueFigures>> queues;
  std::uint64_t counted = 0;  // queues
  std::uint64_t untold = 0;   // queues that need attention and for which there was no room
  /// Readers that have stopped, have lost changes, or are far behind; at most kMostTold.
  std::vector<FeedLag> readers;
  Time as_of{};
};

class Lookout : public std::enable_shared_from_this<Lookout> {
 public:
  static constexpr std::size_t kMostTold = 100;
  static constexpr Duration kLong = std::chrono::minutes(1);

  /// Returns the findings of the last walk; null while the first is not finished. `api` must outlive the walk.
  Task<std::shared_ptr<const Remarkable>> read(Api& api);

 private:
  static Task<void> look(std::shared_ptr<Lookout> self, Api& api);

  Signal told_;
  Mutex mutex_;
  std::shared_ptr<const Remarkable> seen_ GUARDED_BY(mutex_);
  bool walking_ GUARDED_BY(mutex_) = false;
  Duration next_ GUARDED_BY(mutex_){};  // by the monotonic clock: no walk begins before
};

}  // namespace tidemark::api
