// Whether each store answers, and since when. A small call to each store, three times a second, keeps this known, so
// that a page can be told at once which process is down, without a request that waits for it. Thread safe.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/maintenance/backups.h"
#include "common/base/async.h"
#include "common/base/mutex.h"

namespace tidemark::api {

struct StoreState {
  std::string store;                // "table"
  bool answers = true;              // until the first call says otherwise
  Time since{};                     // the change of `answers`, as this process has seen it; or the start of the watch
  std::optional<Time> answered_at;  // the last answer
  std::string problem;              // why it does not answer
};

/// Notes the outcome of a call. A store that is connected and late is away only at the second time. Pure.
void note_call(const Result<void>& outcome, Time now, StoreState& state, int& late);

class StoreWatch : public std::enable_shared_from_this<StoreWatch> {
 public:
  static constexpr Duration kStep = std::chrono::milliseconds(300);

  /// Calls the stores until stop(). The links and the clock must outlive that.
  static void run(const std::shared_ptr<StoreWatch>& self, const Executor& executor,
                  const std::vector<StoreLink>& stores, Clock& clock);
  void stop() { stopping_.notify_all(); }
  /// Returns the state of each store; empty if nothing is watched.
  [[nodiscard]] std::vector<StoreState> states() const;
  /// Tells whether the store answers, as far as is known.
  [[nodiscard]] bool answers(std::string_view store) const;

 private:
  static Task<void> watch(std::shared_ptr<StoreWatch> self, std::size_t place, rpc::Transport& link, Clock& clock);

  Signal stopping_;
  mutable Mutex mutex_;
  std::vector<StoreState> states_ GUARDED_BY(mutex_);
};

}  // namespace tidemark::api
