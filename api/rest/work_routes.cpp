// Work for processes of users: they claim jobs of their own kinds, keep them by signs of life, and end them.
#include "api/rest/api_routes.h"
#include "api/rest/event_stream.h"
#include "api/rest/parameters.h"
#include "api/rest/render.h"
#include "api/rest/request_body.h"
#include "api/rest/work_desk.h"
#include "api/rest/work_news.h"
#include "common/base/json.h"
#include "common/base/text.h"
#include "jobs/spec/job_trace.h"

namespace tidemark::api {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::int64_t kLongestWorkWait = 60;
constexpr std::int64_t kLongestRetryAfter = 86'400;
constexpr std::size_t kMaxWorkerBytes = 100;
constexpr std::size_t kMaxWorkErrorBytes = 2000;
constexpr Duration kBetweenEvents = std::chrono::milliseconds(500);

constexpr jobs::Names<jobs::ErrorClass, 4> kErrorClasses{{{jobs::ErrorClass::kTransient, "transient"},
                                                          {jobs::ErrorClass::kThrottled, "throttled"},
                                                          {jobs::ErrorClass::kConflict, "conflict"},
                                                          {jobs::ErrorClass::kPermanent, "permanent"}}};
constexpr jobs::About kAboutWorker{.meaning = "name of the worker, such as the host and the number of the process",
                                   .least = 1,
                                   .most = kMaxWorkerBytes};

void worker_member(jobs::SpecMembers& in, std::string& worker) {
  const bool given = in.text("worker", worker, true, kAboutWorker);
  const bool good = !worker.empty() && worker.size() <= kMaxWorkerBytes && !jobs::has_forbidden_key_character(worker);
  if (given && !good) in.problem("worker must have 1 to 100 bytes, and no control characters, /, \\, # and ?");
}

/// Reads a list of 1 to kMostClaimed objects, and names the place of each problem.
template <class T>
void list_member(jobs::SpecMembers& in, const char* name, std::vector<T>& out) {
  if (in.describes()) {
    return in.describe(name,
                       {{"type", "array"},
                        {"minItems", 1},
                        {"maxItems", kMostClaimed},
                        {"items", jobs::schema_of<T>(jobs::Use::kRequest)}},
                       {}, true);
  }
  const auto* list = in.any(name);
  if (list == nullptr || !list->is_array() || list->empty() || list->size() > kMostClaimed) {
    return in.problem(std::string(name) + " must be a list of 1 to " + std::to_string(kMostClaimed) + " objects");
  }
  for (std::size_t i = 0; i < list->size(); ++i) {
    const auto place = std::string(name) + "[" + std::to_string(i) + "]";
    if (!(*list)[i].is_object()) {
      in.problem(place + " must be an object");
    } else {
      in.nested(place.c_str(), (*list)[i], out.emplace_back());
    }
  }
}

/// Notes a problem for a job that is named twice.
template <class T>
void refuse_twice(jobs::SpecMembers& in, const std::vector<T>& list, auto id_of) {
  std::set<std::string> seen;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!seen.insert(id_of(list[i])).second) in.problem("jobs[" + std::to_string(i) + "] names a job again");
  }
}

void id_members(jobs::SpecMembers& in, std::string& id, std::uint64_t& epoch) {
  if (in.text("id", id, true) && !jobs::is_job_id(id)) in.problem("id does not have the form of a job's id");
  in.number("epoch", epoch, 1, INT64_MAX, {.meaning = "from the claim"}, true);
}

struct WorkClaim {
  WorkDesk::Asked asked;
  static constexpr const char* kSchema = "WorkClaim";
  void members(jobs::SpecMembers& in) {
    worker_member(in, asked.worker);
    kinds_member(in);
    in.number("count", asked.count, 1, kMostClaimed, {.meaning = "the most jobs to get"});
    std::int64_t wait = 0;
    in.number("wait", wait, 0, kLongestWorkWait, {.meaning = "how many seconds to wait for the first job"});
    asked.wait = std::chrono::seconds(wait);
    const jobs::About about{
        .meaning = "any text of the request's own: repeated with it, the request gets the same jobs",
        .most = kMaxWorkerBytes};
    if (in.text("requestId", asked.request_id, about) && asked.request_id.size() > kMaxWorkerBytes) {
      in.problem("requestId must have at most 100 bytes");
    }
  }

 private:
  void kinds_member(jobs::SpecMembers& in) {
    if (in.describes()) {
      return in.describe("kinds",
                         {{"type", "array"},
                          {"minItems", 1},
                          {"maxItems", kMostWorkKinds},
                          {"uniqueItems", true},
                          {"items", {{"type", "string"}}}},
                         {.meaning = "KIND@VERSION, or KIND for version 1"}, true);
    }
    const auto* list = in.any("kinds");
    if (list == nullptr || !list->is_array() || list->empty() || list->size() > kMostWorkKinds) {
      return in.problem("kinds must be a list of 1 to 20 texts such as resize@2");
    }
    for (const auto& each : *list) {
      const auto of = each.is_string() ? jobs::kind_version_in(each.get_ref<const std::string&>()) : std::nullopt;
      if (!of) {
        in.problem("kinds: " + each.dump() + " is not KIND@VERSION with a kind of your own");
      } else if (std::ranges::find(asked.kinds, *of) == asked.kinds.end()) {
        asked.kinds.push_back(*of);
      }
    }
  }
};

struct FenceHeaders {
  std::string id, epoch, cause;
  void members(jobs::SpecMembers& to) const {
    to.shows("x-ms-tidemark-operation-id", id);
    to.shows("x-ms-tidemark-epoch", epoch);
    to.shows_unless_empty("x-ms-tidemark-cause", cause);
  }
};

/// A text of JSON as it is shown; null: there is none.
ordered_json shown_text(const std::string& text) {
  return text.empty() ? ordered_json() : ordered_json::parse(text, nullptr, false);
}

struct ShownWork {
  jobs::ClaimedJob job;
  std::uint32_t lease_seconds = 0;
  static constexpr const char* kSchema = "ClaimedJob";
  void members(jobs::SpecMembers& to) const {
    const auto& record = job.record;
    const auto* own = std::get_if<jobs::OwnSpec>(&job.spec.work);
    to.shows("id", record.id);
    to.shows("epoch", record.epoch, {.meaning = "to be sent with each beat and with the end"});
    to.shows("kind", record.kind);
    to.shows("version", own == nullptr ? 1 : own->version);
    to.shows_unless_empty("key", job.spec.key);
    to.shows("attempt", record.attempts, {.meaning = "1 for the first"});
    to.shows("maxAttempts", job.spec.max_attempts);
    to.shows("leaseSeconds", lease_seconds,
             {.meaning = "how long a silent worker keeps it, from the claim or a beat on"});
    to.shows_json("input", ordered_json::object(), own == nullptr ? ordered_json() : shown_text(own->input));
    to.shows_json("checkpoint", ordered_json::object(), shown_text(record.checkpoint),
                  {.meaning = "what an earlier attempt saved last"});
    to.shows("done", record.done);
    to.shows("submittedAt", record.submitted_at);
    to.shows("fence", FenceHeaders{record.id, std::to_string(record.epoch), jobs::chain_of(job.spec)},
             {.meaning = "headers for the job's own writes, with which those of an earlier attempt are refused"});
    const auto trace = jobs::delivery_trace(job.spec.trace, record.id, record.epoch);
    to.shows_unless_empty("traceparent", trace ? traceparent_of(trace) : std::string());
  }
};

constexpr std::string_view kWorkStates[] = {"work", "quiet"};
constexpr jobs::About kAboutWorkerState{.meaning = "quiet: take nothing more, and end what is under way",
                                        .one_of = kWorkStates};

struct WorkGiven {
  std::vector<ShownWork> jobs;
  bool quiet = false;
  static constexpr const char* kSchema = "WorkGiven";
  void members(jobs::SpecMembers& to) const {
    to.shows("worker", std::string(kWorkStates[quiet ? 1 : 0]), kAboutWorkerState);
    to.shows("jobs", jobs);
  }
};

Answer claim_work(Api& api, http::Request& request, std::string) {
  auto asked = CO_TRY(co_await read_members<WorkClaim>(request)).asked;
  asked.gone = request.peer_gone;
  const auto wait = asked.wait;
  const auto begun = api.clock.monotonic();
  auto given = CO_TRY(co_await api.work->claim(std::move(asked)));
  request.waited += std::min(api.clock.monotonic() - begun, wait);
  WorkGiven shown;
  shown.quiet = given.quiet;
  const auto facts = co_await api.work->facts();
  for (auto& job : given.jobs) {
    const auto* kind = facts ? jobs::find_kind((*facts)->kinds, job.record.kind) : nullptr;
    shown.jobs.push_back({std::move(job), kind != nullptr ? kind->lease_seconds : jobs::OwnKind().lease_seconds});
  }
  co_return json_response(200, json_of(std::move(shown)));
}

struct BeatOfJob {
  jobs::JobBeat beat;
  void members(jobs::SpecMembers& in) {
    id_members(in, beat.id, beat.epoch);
    in.number("done", beat.done, 0, INT64_MAX, {.meaning = "how much is done"});
    in.number("total", beat.total, 0, INT64_MAX, {.meaning = "of how much"});
    std::string phase;
    if (in.text("phase", phase, {.meaning = "the present step, for people", .most = kMaxWorkerBytes})) {
      beat.phase = std::string(beginning_of(phase, kMaxWorkerBytes));
    }
    if (in.describes()) {
      in.describe("checkpoint", ordered_json::object(),
                  {.meaning = "any JSON of at most 16 KiB, for the next attempt if this one fails"});
    }
    if (const auto* given = in.any("checkpoint")) {
      beat.checkpoint = given->dump(-1, ' ', false, json::error_handler_t::replace);
      if (beat.checkpoint->size() > jobs::kMaxCheckpointBytes) {
        in.problem("checkpoint has " + std::to_string(beat.checkpoint->size()) +
                   " bytes, and may have 16384: put more into a blob, and name the blob");
      }
    }
  }
};

struct WorkBeat {
  std::string worker;
  std::vector<BeatOfJob> jobs;
  static constexpr const char* kSchema = "WorkBeat";
  void members(jobs::SpecMembers& in) {
    worker_member(in, worker);
    list_member(in, "jobs", jobs);
    refuse_twice(in, jobs, [](const BeatOfJob& each) { return each.beat.id; });
  }
};

struct ShownBeat {
  std::string id;
  jobs::BeatAnswer answer = jobs::BeatAnswer::kHeld;
  void members(jobs::SpecMembers& to) const {
    to.shows("id", id);
    to.shows("answer", jobs::kBeatAnswers, answer,
             {.meaning = "held: the lease begins anew; cancel: the job was cancelled; lost: another attempt has it"});
  }
};

struct WorkBeaten {
  std::vector<ShownBeat> jobs;
  bool quiet = false;
  static constexpr const char* kSchema = "WorkBeaten";
  void members(jobs::SpecMembers& to) const {
    to.shows("worker", std::string(kWorkStates[quiet ? 1 : 0]), kAboutWorkerState);
    to.shows("jobs", jobs);
  }
};

Answer beat_work(Api& api, http::Request& request, std::string) {
  const auto text = CO_TRY(co_await request.body->read_all(kMaxBatchBytes));
  auto body = CO_TRY(members_in<WorkBeat>(text));
  std::vector<jobs::JobBeat> beats;
  WorkBeaten shown;
  for (auto& each : body.jobs) {
    shown.jobs.push_back({each.beat.id});
    beats.push_back(std::move(each.beat));
  }
  const auto beaten = CO_TRY(co_await api.work->beat(std::move(body.worker), std::move(beats)));
  for (std::size_t i = 0; i < shown.jobs.size(); ++i) shown.jobs[i].answer = beaten.answers[i];
  shown.quiet = beaten.quiet;
  co_return json_response(200, json_of(std::move(shown)));
}

struct WorkError {
  jobs::ErrorClass error_class = jobs::ErrorClass::kTransient;
  std::string message;
  std::optional<std::uint32_t> retry_after;
  void members(jobs::SpecMembers& in) {
    in.choice(
        "class", kErrorClasses, error_class,
        {.meaning = "transient and conflict: tried again; throttled: likewise, and not counted; permanent: poison"},
        true);
    in.text("message", message, true, {.meaning = "for people"});
    message = std::string(beginning_of(message, kMaxWorkErrorBytes));
    in.number("retryAfter", retry_after, 0, kLongestRetryAfter, {.meaning = "seconds; instead of the back-off"});
  }
};

struct EndOfJob {
  jobs::WorkEnd end;
  std::optional<WorkError> error;
  void members(jobs::SpecMembers& in) {
    id_members(in, end.id, end.epoch);
    bool release = false;
    if (in.describes()) {
      in.describe("result", ordered_json::object(), {.meaning = "the job succeeded: any JSON of at most 30,000 bytes"});
    }
    const auto* result = in.any("result");
    if (result != nullptr) end.result = result->dump(-1, ' ', false, json::error_handler_t::replace);
    in.object("error", error, "a class and a message", {.meaning = "the attempt failed"});
    in.flag("release", release, {.meaning = "true: give the job back; the attempt does not count"});
    if (in.describes()) return jobs::TransactionSpec::describe(in, false);
    const bool steps = in.any("steps") != nullptr || in.any("guards") != nullptr;
    if (steps) end.transaction.members(in);
    if (steps && result == nullptr) in.problem("steps and guards go with a result");
    if ((result != nullptr ? 1 : 0) + (in.has("error") ? 1 : 0) + (release ? 1 : 0) != 1) {
      in.problem("give one of result, error and release");
    }
    end.kind = steps     ? jobs::EndKind::kSteps
               : release ? jobs::EndKind::kRelease
               : error   ? jobs::EndKind::kError
                         : jobs::EndKind::kResult;
    if (!error) return;
    end.error_class = error->error_class;
    end.message = error->message;
    if (error->retry_after) end.retry_after = std::chrono::seconds(*error->retry_after);
  }
};

struct WorkEnds {
  std::string worker;
  std::vector<EndOfJob> jobs;
  static constexpr const char* kSchema = "WorkEnds";
  void members(jobs::SpecMembers& in) {
    worker_member(in, worker);
    list_member(in, "jobs", jobs);
    refuse_twice(in, jobs, [](const EndOfJob& each) { return each.end.id; });
  }
};

/// Returns the outcome of one end, as its answer shows it.
json ended_json(const std::string& id, const Result<jobs::JobRecord>& outcome, const std::string& request_id) {
  if (outcome) return {{"id", id}, {"status", 200}, {"state", jobs::state_name(outcome->state)}};
  const auto& error = outcome.error();
  return {{"id", id}, {"status", http_status_of(error.code)}, {"problem", problem_json(error, request_id)}};
}

/// Checks the parts of an end that do not depend on the job: the size of the result, and the places that steps reach.
Result<void> check_end(const Api& api, const jobs::WorkEnd& end) {
  if (end.result.size() > jobs::kMaxResultBytes) {
    return fail(ErrorCode::kRequestBodyTooLarge, "The result has " + std::to_string(end.result.size()) +
                                                     " bytes, and may have " + std::to_string(jobs::kMaxResultBytes) +
                                                     ": put more into a blob, and name the blob.");
  }
  jobs::JobSpec spec;
  spec.work = end.transaction;
  return end.kind == jobs::EndKind::kSteps ? api.admit(spec, {}) : Result<void>();
}

Answer end_work(Api& api, http::Request& request, std::string) {
  const auto text = CO_TRY(co_await request.body->read_all(kMaxBatchBytes));
  auto body = CO_TRY(members_in<WorkEnds>(text));
  std::vector<jobs::WorkEnd> ends;
  auto outcomes = json::array();
  std::vector<std::size_t> places;
  for (auto& each : body.jobs) {
    auto good = check_end(api, each.end);
    outcomes.push_back(good ? json() : ended_json(each.end.id, fail(std::move(good.error())), request.request_id));
    if (!good) continue;
    places.push_back(outcomes.size() - 1);
    ends.push_back(std::move(each.end));
  }
  const auto ended = co_await api.work->end(std::move(ends));
  for (std::size_t n = 0; n < ended.size(); ++n) {
    outcomes[places[n]] = ended_json(body.jobs[places[n]].end.id, ended[n], request.request_id);
  }
  co_return json_response(200, {{"jobs", std::move(outcomes)}});
}

template <bool quiet>
Answer set_quiet(Api& api, http::Request&, std::string name) {
  if (!CO_TRY(co_await api.workers.set_quiet(name, quiet))) {
    co_return fail(ErrorCode::kNotFound, "No worker of yours has this name: " + name);
  }
  CO_TRY(co_await api.work->facts(true));
  co_return no_content();
}

/// The events for one worker: "cancel" for each of its jobs that is cancelled, and "quiet" once it is to take nothing
/// more.
class WorkEvents final : public http::BodySource {
 public:
  WorkEvents(Api& api, std::string worker, EventStream stream, std::shared_ptr<void> listening)
      : api_(api),
        worker_(std::move(worker)),
        stream_(std::move(stream)),
        listening_(std::move(listening)),
        place_(api.news->place()) {}

  Task<Result<std::string>> next() override {
    if (!std::exchange(begun_, true)) co_return std::string(": events for " + worker_ + "\n\n");
    const auto said = api_.clock.monotonic();
    while (stream_.goes_on()) {
      auto text = co_await news();
      if (!text.empty()) co_return text;
      if (api_.clock.monotonic() - said >= kKeepAlive) co_return std::string(": still here\n\n");
      co_await api_.news->wait(kBetweenEvents);
    }
    co_return std::string();
  }

 private:
  Task<std::string> news() {
    std::string text;
    for (const auto& notice : api_.news->since(place_, worker_)) {
      text += "event: cancel\ndata: " + json_text({{"id", notice.job_id}, {"epoch", notice.epoch}}) + "\n\n";
    }
    const auto facts = co_await api_.work->facts();
    const bool quiet = facts && (*facts)->quiet.contains(worker_);
    if (quiet && !quiet_) text += "event: quiet\ndata: {}\n\n";
    quiet_ = quiet;
    co_return text;
  }

  Api& api_;
  std::string worker_;
  EventStream stream_;
  std::shared_ptr<void> listening_;
  std::uint64_t place_;
  bool begun_ = false, quiet_ = false;
};

Answer work_events(Api& api, http::Request& request, Action& action, std::string) {
  auto parameters = CO_TRY(Parameters::read(request));
  auto worker = parameters.text("worker");
  if (worker.empty()) {
    co_return fail(ErrorCode::kInvalidQueryParameterValue, "worker is missing: the name under which it claims jobs.");
  }
  auto slot = api.streams.take();
  if (!slot) {
    co_return fail(
        ErrorCode::kServerBusy,
        "As many streams of events are open as max_event_streams allows. The answers to beats tell the same; "
        "or try again later.");
  }
  auto listening = api.news->listen(co_await asio::this_coro::executor);
  EventStream stream(api, request, std::move(action.caller), std::move(slot), Role::kWorker);
  http::Response response;
  response.set("Content-Type", "text/event-stream");
  response.set("Cache-Control", "no-store");
  response.source = std::make_unique<WorkEvents>(api, std::move(worker), std::move(stream), std::move(listening));
  co_return response;
}

}  // namespace

std::span<const Route> work_routes() {
  static constexpr Route kRoutes[] = {
      {"POST", "v1/work/claim", Role::kWorker, claim_work, Entrance::kToken, Trail::kNone},
      {"POST", "v1/work/beat", Role::kWorker, beat_work, Entrance::kToken, Trail::kNone},
      {"POST", "v1/work/end", Role::kWorker, end_work, Entrance::kToken, Trail::kNone},
      {"GET", "v1/work/events", Role::kWorker, work_events},
      {"POST", "v1/workers/*/quiet", Role::kOperator, set_quiet<true>},
      {"POST", "v1/workers/*/resume", Role::kOperator, set_quiet<false>},
  };
  return kRoutes;
}

ordered_json work_schemas() {
  ordered_json out;
  jobs::add_requests<WorkClaim, WorkBeat, WorkEnds>(out);
  jobs::add_answers<ShownWork, WorkGiven, WorkBeaten>(out);
  return out;
}

}  // namespace tidemark::api
