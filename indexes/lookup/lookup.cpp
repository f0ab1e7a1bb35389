#include "indexes/lookup/lookup.h"

#include <algorithm>

#include "indexes/lookup/row_searches.h"

namespace tidemark::indexes {
namespace {

using namespace std::chrono_literals;

constexpr Duration kFirstPause = 5ms;
constexpr Duration kLongestPause = 50ms;
constexpr Duration kRecent = 25ms;

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

std::optional<Status> Lookup::Recent::find(const std::string& name, Duration now) const {
  const MutexLock lock(mutex_);
  const auto found = entries_.find(name);
  if (found == entries_.end() || now - found->second.at > kRecent) return std::nullopt;
  auto status = found->second.status;
  status.age = std::max(now - found->second.at, Duration(1));
  return status;
}

void Lookup::Recent::set(const Status& status, Duration now) {
  const MutexLock lock(mutex_);
  std::erase_if(entries_, [now](const auto& entry) { return now - entry.second.at > kRecent; });
  entries_.insert_or_assign(status.index.name, Entry{status, now});
}

Task<Result<Status>> Lookup::read_status(std::string name) {
  auto index = CO_TRY(co_await store_.find(name));
  if (!index) co_return fail(ErrorCode::kIndexNotFound, "There is no index " + name + ".");
  const auto begun = clock_.monotonic();
  auto status = CO_TRY(co_await status_of(tables_, store_, std::move(*index)));
  recent_->set(status, begun);
  co_return status;
}

Task<Result<Status>> Lookup::status(std::string name) {
  if (auto recent = recent_->find(name, clock_.monotonic())) co_return std::move(*recent);
  co_return co_await read_status(std::move(name));
}

Task<Result<Status>> Lookup::await_freshness(Status status, const LookupRequest& request, std::function<bool()> give_up,
                                             Duration* waited) {
  const auto deadline = clock_.monotonic() + request.wait;
  for (auto pause = kFirstPause; !fresh_enough(status, request, clock_.now());) {
    if (status.age == Duration::zero()) {
      const auto left = deadline - clock_.monotonic();
      if (left <= Duration::zero() || give_up()) co_return too_late(status);
      co_await sleep_for(clock_, std::min(pause, left));
      if (waited != nullptr) *waited += std::min(pause, left);
      pause = std::min(2 * pause, kLongestPause);
    }
    const auto id = status.index.id;
    status = CO_TRY(co_await read_status(status.index.name));
    if (status.index.id != id) co_return fail(ErrorCode::kIndexNotFound);  // the request was made for another index
  }
  co_return status;
}

Task<Result<LookupAnswer>> Lookup::find(Status status, LookupRequest request, std::function<bool()> give_up,
                                        Duration* waited) {
  LookupAnswer answer;
  answer.status = CO_TRY(co_await await_freshness(std::move(status), request, std::move(give_up), waited));
  auto search = CO_TRY(make_search({tables_, listings_, blobs_, clock_}, answer.status.index, std::move(request)));
  answer.found = CO_TRY(co_await search->run());
  co_return answer;
}

}  // namespace tidemark::indexes
