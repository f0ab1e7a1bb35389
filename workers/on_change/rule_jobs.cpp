#include "workers/on_change/rule_jobs.h"

#include <algorithm>

#include "feeds/tokens/token.h"
#include "workers/on_change/test_switches.h"
#include "workers/runtime/fail_points.h"

namespace tidemark::workers {
namespace {

using table_store::Change;

constexpr std::string_view kLane = "rule:";

std::string place_of(const feeds::OnChange& on_change) { return on_change.table + "/" + on_change.name; }

}  // namespace

RuleJobs::RuleJobs(jobs::JobStore& jobs, queue_service::QueueClient& queues, Clock& clock,
                   const feeds::OnChange& on_change)
    : jobs_(jobs),
      queues_(queues),
      clock_(clock),
      on_change_(on_change),
      mark_(jobs::mark_of_rule(on_change.name, on_change.id)) {}

Result<bool> RuleJobs::wants(const table_store::Filter& filter, const Change& change) const {
  return feeds::makes_job(rule(), on_change_.definition.when, mark_, filter, change);
}

Task<Result<std::uint64_t>> RuleJobs::room(const feeds::OnChangeProgress& progress) {
  auto out = std::numeric_limits<std::uint64_t>::max();
  const auto limits = this->limits();
  if (limits.per_day) {
    const auto made = made_today(progress);
    // The job that is one too many stops the rule, so it must come.
    out = std::max<std::uint64_t>(1, *limits.per_day - std::min(made, *limits.per_day));
  }
  if (!limits.waiting || queue_.empty()) co_return out;
  const auto figures = co_await queues_.figures(queue_);
  if (figures.failed_with(ErrorCode::kQueueNotFound)) co_return out;
  const auto waiting = CO_TRY(figures).messages;
  co_return std::min(out, *limits.waiting - std::min(waiting, *limits.waiting));
}

Duration RuleJobs::pause() {
  const auto most = limits().per_second;
  if (!most) return {};
  const auto now = clock_.now();
  const auto turn = std::max(now, next_);
  next_ = turn + Duration(std::chrono::seconds(1)) / static_cast<std::int64_t>(*most);
  return turn - now;
}

Task<Result<void>> RuleJobs::submit(const Change& change, const std::string& change_id) {
  auto spec = CO_TRY(feeds::job_for(rule(), on_change_.table, change));
  auto& cause = spec.cause.emplace();
  cause.rule = place_of(on_change_);
  cause.change = change_id;
  cause.shard = change.shard;
  cause.version = change.version;
  cause.chain = jobs::longer_chain(change.cause, mark_);
  if (const auto lane = feeds::lane_of(rule().order, change); !lane.empty()) {
    cause.lane.append(kLane).append(mark_).append(":").append(lane);
    cause.holds = rule().if_poison == feeds::IfPoison::kHold;
  }
  queue_ = jobs::queue_of(spec);
  auto seed = on_change_.id + "\n" + change_id;
  if (test_switches::new_job_ids) seed += to_iso8601(clock_.now());
  auto id = jobs::job_id_of_message(Time(Ticks(change.version)), seed);
  CO_TRY(co_await fail_points::kRuleSubmit.around(jobs_.submit(std::move(spec), std::move(id))));
  co_return Result<void>{};
}

Result<void> RuleJobs::check_day(const feeds::OnChangeProgress& progress) const {
  const auto most = limits().per_day;
  if (!most || made_today(progress) < *most) return {};
  return fail(ErrorCode::kInvalidInput,
              "perDay: it has made its " + std::to_string(*most) + " jobs of this day. Resume it for as many again.");
}

void RuleJobs::count(feeds::OnChangeProgress& progress) const {
  progress.made_today = made_today(progress) + 1;
  progress.day = today();
}

std::string RuleJobs::today() const { return to_iso8601(clock_.now()).substr(0, 10); }

Task<Result<bool>> may_come_again(feeds::OnChangeStore& store, jobs::Cause cause) {
  const auto slash = cause.rule.find('/');
  if (cause.change.empty() || slash == std::string::npos) co_return false;
  const auto found = co_await store.get(cause.rule.substr(0, slash), cause.rule.substr(slash + 1));
  if (found.failed_with(ErrorCode::kOnChangeNotFound)) co_return false;
  const auto on_change = CO_TRY(found);
  const auto marks = jobs::marks_in(cause.chain);
  if (marks.empty() || marks.back() != jobs::mark_of_rule(on_change.name, on_change.id)) co_return false;
  const auto progress = CO_TRY(co_await store.progress(on_change.id));
  const auto place = feeds::parse_token(on_change.table, progress.token.empty() ? on_change.start : progress.token);
  // `<=`: changes of one transaction share a version.
  co_return place && place->of(cause.shard).version <= cause.version;
}

}  // namespace tidemark::workers
