#include "indexes/lookup/lookup.h"

#include <algorithm>

#include "indexes/lookup/row_searches.h"

namespace tidemark::indexes {
namespace {

using namespace std::chrono_literals;

constexpr Duration kFirstPause = 5ms;
constexpr Duration kLongestPause = 50ms;

bool fresh_enough(const Status& status, const LookupRequest& request, Time now) {
  if (request.min_version != 0 && !status.has_reached(request.min_version)) return false;
  if (!request.max_lag) return true;
  const auto lag = status.lag(now);
  return status.state() == kReady && lag && *lag <= *request.max_lag;
}

std::unexpected<Error> too_late(const Status& status) {
  auto message =
      "The index is " + std::string(status.state()) + " and has reached " + to_iso8601(Time(Ticks(status.position())));
  if (status.follower) message += "; " + std::to_string(status.follower->changes_behind) + " changes wait";
  return fail(ErrorCode::kDeadlineExceeded, message + (status.index.paused ? ". It is paused." : "."));
}

}  // namespace

Task<Result<Status>> Lookup::await_freshness(Index index, const LookupRequest& request, std::function<bool()> give_up) {
  const auto deadline = clock_.monotonic() + request.wait;
  for (auto pause = kFirstPause;; pause = std::min(2 * pause, kLongestPause)) {
    auto status = CO_TRY(co_await status_of(tables_, store_, index));
    if (fresh_enough(status, request, clock_.now())) co_return status;
    const auto left = deadline - clock_.monotonic();
    if (left <= Duration::zero() || give_up()) co_return too_late(status);
    co_await sleep_for(clock_, std::min(pause, left));
  }
}

Task<Result<LookupAnswer>> Lookup::find(Index index, LookupRequest request, std::function<bool()> give_up) {
  LookupAnswer answer;
  answer.status = CO_TRY(co_await await_freshness(index, request, std::move(give_up)));
  auto search = CO_TRY(make_search(tables_, index, std::move(request)));
  auto found = CO_TRY(co_await search->run());
  answer.entities = std::move(found.entities);
  answer.left_out = found.left_out;
  answer.continuation = std::move(found.continuation);
  co_return answer;
}

}  // namespace tidemark::indexes
