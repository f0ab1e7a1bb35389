#include "api/rest/store_watch.h"

#include <algorithm>

#include "common/base/log.h"
#include "common/rpc/call.h"
#include "common/service/maintenance_calls.h"

namespace tidemark::api {
namespace {

constexpr Duration kWatchPatience = std::chrono::milliseconds(400);
constexpr int kLateBeforeAway = 2;

Task<Result<void>> ask_store(rpc::Transport& link) {
  CO_TRY(co_await rpc::call(link, service::calls::Identify{}, kWatchPatience));
  co_return Result<void>{};
}

}  // namespace

void note_call(const Result<void>& outcome, Time now, StoreState& state, int& late) {
  if (outcome) {
    late = 0;
    state.answered_at = now;
    state.problem.clear();
    if (!std::exchange(state.answers, true)) state.since = now;
    return;
  }
  const bool only_late = outcome.failed_with(ErrorCode::kDeadlineExceeded);
  if (only_late && state.answers && ++late < kLateBeforeAway) return;
  state.problem = outcome.error().message;
  // It was last there when it last answered, which may have been before this call.
  if (std::exchange(state.answers, false)) state.since = state.answered_at.value_or(now);
}

void StoreWatch::run(const std::shared_ptr<StoreWatch>& self, const Executor& executor,
                     const std::vector<StoreLink>& stores, Clock& clock) {
  {
    const MutexLock lock(self->mutex_);
    for (const auto& store : stores) self->states_.push_back({store.name, true, clock.now(), {}, {}});
  }
  for (std::size_t i = 0; i < stores.size(); ++i) spawn(executor, watch(self, i, *stores[i].link, clock));
}

Task<void> StoreWatch::watch(std::shared_ptr<StoreWatch> self, std::size_t place, rpc::Transport& link, Clock& clock) {
  const auto ticket = self->stopping_.ticket();
  int late = 0;
  do {
    const auto outcome = co_await ask_store(link);
    const auto now = clock.now();
    const MutexLock lock(self->mutex_);
    auto& state = self->states_[place];
    const bool before = state.answers;
    note_call(outcome, now, state, late);
    if (before != state.answers) {
      log_warning("the {} store {}", state.store, state.answers ? "answers again" : "does not answer");
    }
  } while (!co_await self->stopping_.wait(ticket, clock, kStep));
}

std::vector<StoreState> StoreWatch::states() const {
  const MutexLock lock(mutex_);
  return states_;
}

bool StoreWatch::answers(std::string_view store) const {
  const MutexLock lock(mutex_);
  const auto found = std::ranges::find(states_, store, &StoreState::store);
  return found == states_.end() || found->answers;
}

}  // namespace tidemark::api
