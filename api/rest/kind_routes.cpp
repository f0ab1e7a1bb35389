// Kinds of job: the built-in ones and those that users declare; their settings.
#include "api/rest/api_routes.h"
#include "api/rest/kind_members.h"
#include "api/rest/render.h"
#include "api/rest/request_body.h"
#include "api/rest/work_desk.h"
#include "common/base/nearest_word.h"
#include "jobs/kinds/kinds.h"
#include "jobs/spec/job_queues.h"
#include "jobs/work/own_kind_store.h"

namespace tidemark::api {
namespace {

using nlohmann::json;

constexpr std::size_t kMostVersionsShown = 100;
constexpr jobs::About kAboutRunning{
    .meaning = "jobs that run at once, over all workers; for a partition, their transactions; 0: no limit"};
constexpr jobs::About kAboutPerSecond{.meaning =
                                          "entities that jobs change in a second, over all workers; 0: no limit"};

struct KindChange {
  jobs::LimitChange change;
  static constexpr const char* kSchema = "KindChange";
  void members(jobs::SpecMembers& in) {
    in.flag("paused", change.paused);
    rate_members(in, change);
    std::string queue;
    if (!in.text("queue", queue, {.meaning = "queue of the jobs that name none; default: those of the priorities"}))
      return;
    const bool is_default = queue == jobs::kDefaultQueue;
    if (!is_default && !jobs::is_own_queue(queue)) in.problem(std::string("queue ").append(jobs::kQueueNameRule));
    change.queue = is_default ? std::string() : queue;  // no choice
  }
};

struct ShownVersion {
  std::uint32_t version = 1;
  std::uint64_t queued = 0, running = 0, workers = 0;
  void members(jobs::SpecMembers& to) const {
    to.shows("version", version);
    to.shows("queued", queued, {.meaning = "its jobs that wait, for any reason"});
    to.shows("running", running);
    to.shows("workers", workers, {.meaning = "live workers that claim it"});
    const bool waits = queued > 0 && workers == 0;
    to.shows("waiting", waits ? std::optional(std::string("noWorker")) : std::nullopt,
             {.meaning = "noWorker: jobs wait, and no worker claims this version"});
  }
};

struct ShownOwnKind {
  jobs::OwnKind kind;
  std::vector<ShownVersion> versions;
  void members(jobs::SpecMembers& to) const {
    to.shows("leaseSeconds", kind.lease_seconds);
    to.shows("maxAttempts", kind.max_attempts);
    to.shows("retryBaseMs", kind.retry_base_ms);
    to.shows("retryCapMs", kind.retry_cap_ms);
    to.shows("keepHours", kind.keep_hours);
    to.shows_json("perKey", jobs::schema_of<jobs::PerKey>(jobs::Use::kRequest),
                  kind.per_key ? jobs::members_json(*kind.per_key) : nlohmann::ordered_json());
    to.shows("steps", kind.steps);
    to.shows("versions", versions, {.meaning = "those that have a queue, because they had a job"});
  }
};

struct ShownKind {
  jobs::Limit limit;
  std::optional<ShownOwnKind> own = {};
  static constexpr const char* kSchema = "Kind";
  void members(jobs::SpecMembers& to) const {
    to.shows("kind", limit.target.name);
    to.shows("paused", limit.paused);
    show_rates(to, limit);
    to.shows_unless_empty("queue", limit.queue, {.meaning = "queue of the jobs that name none"});
    to.shows("own", own, {.meaning = "the declaration of a kind of your own"});
  }
};

jobs::Limit limit_for(std::string_view kind, const std::vector<jobs::Limit>& limits) {
  jobs::Limit limit;
  limit.target = jobs::kind_target(kind);
  const auto known = std::ranges::find(limits, limit.target, &jobs::Limit::target);
  return known == limits.end() ? limit : *known;
}

/// Returns the figures of one version. A priority that no job has had has no queue.
Task<Result<ShownVersion>> version_of(Api& api, jobs::KindVersion of, const Obstacles* obstacles) {
  ShownVersion out{of.version};
  for (auto& queue : jobs::work_queues(of)) {
    const auto figures = co_await api.queues.figures(queue);
    if (figures.failed_with(ErrorCode::kQueueNotFound)) continue;
    if (!figures) co_return fail(figures.error());
    out.queued += figures->ready + figures->delayed + figures->waiting;
    out.running += figures->in_flight;
  }
  const auto queue = jobs::work_queues(of)[1];
  if (obstacles != nullptr) {
    out.workers = static_cast<std::uint64_t>(
        std::ranges::count_if(obstacles->workers, [&](const auto& worker) { return worker.serves(queue); }));
  }
  co_return out;
}

/// Returns the kind with its versions; `queues`: the names of all queues of jobs of users' own kinds.
Task<Result<ShownKind>> shown_own(Api& api, jobs::OwnKind kind, jobs::Limit limit, std::vector<std::string> queues) {
  std::set<jobs::KindVersion> versions;
  for (const auto& queue : queues) {
    const auto of = jobs::kind_version_in(jobs::name_of_queue(queue));
    if (of && of->kind == kind.name && versions.size() < kMostVersionsShown) versions.insert(*of);
  }
  const auto obstacles = co_await api.waits->obstacles(api);
  ShownOwnKind own{std::move(kind), {}};
  for (const auto& of : versions) own.versions.push_back(CO_TRY(co_await version_of(api, of, obstacles.get())));
  co_return ShownKind{std::move(limit), std::move(own)};
}

Task<Result<ShownKind>> shown_own(Api& api, jobs::OwnKind kind) {
  const auto limits = CO_TRY(co_await api.limits.list());
  auto limit = limit_for(kind.name, limits);
  auto queues = CO_TRY(co_await api.queues.list_queues(std::string(jobs::kWorkPrefix) + kind.name + "-v"));
  co_return co_await shown_own(api, std::move(kind), std::move(limit), std::move(queues));
}

Answer list_kinds(Api& api, http::Request&, std::string) {
  const auto set = CO_TRY(co_await api.limits.list());
  auto list = json::array();
  for (const auto kind : jobs::Kinds::kNames) list.push_back(json_of(ShownKind{limit_for(kind, set)}));
  const auto queues = CO_TRY(co_await api.queues.list_queues(std::string(jobs::kWorkPrefix)));
  for (auto& kind : CO_TRY(co_await api.own_kinds.all())) {
    auto limit = limit_for(kind.name, set);
    list.push_back(json_of(CO_TRY(co_await shown_own(api, std::move(kind), std::move(limit), queues))));
  }
  co_return json_response(200, {{"kinds", std::move(list)}});
}

Answer show_kind(Api& api, http::Request&, std::string name) {
  if (jobs::is_kind(name)) {
    const auto set = CO_TRY(co_await api.limits.list());
    co_return json_response(200, json_of(ShownKind{limit_for(name, set)}));
  }
  auto kind = CO_TRY(co_await api.own_kinds.find(name));
  if (!kind) co_return fail(ErrorCode::kNotFound, no_such_kind(name, CO_TRY(co_await api.own_kinds.all())));
  co_return json_response(200, json_of(CO_TRY(co_await shown_own(api, std::move(*kind)))));
}

Answer put_kind(Api& api, http::Request& request, Action& action, std::string name) {
  if (!jobs::is_own_kind_name(name)) {
    co_return fail(ErrorCode::kInvalidInput, "The name of a kind " + std::string(jobs::kKindNameRule) + ".");
  }
  const auto body = CO_TRY(co_await request.body->read_all(kMaxBodyBytes));
  auto kind = CO_TRY(members_in<jobs::OwnKind>(body));
  kind.name = name;
  action.detail = body;
  auto stored = CO_TRY(co_await api.own_kinds.put(std::move(kind)));
  CO_TRY(co_await api.work->facts(true));
  co_return json_response(stored.created ? 201 : 200, json_of(CO_TRY(co_await shown_own(api, std::move(stored.kind)))));
}

Answer drop_kind(Api& api, http::Request&, std::string name) {
  if (!CO_TRY(co_await api.own_kinds.remove(name))) {
    co_return fail(ErrorCode::kNotFound, no_such_kind(name, CO_TRY(co_await api.own_kinds.all())));
  }
  CO_TRY(co_await api.work->facts(true));
  co_return no_content();
}

Answer set_kind(Api& api, http::Request& request, Action& action, std::string kind) {
  const bool built_in = jobs::is_kind(kind);
  auto own = built_in ? std::nullopt : CO_TRY(co_await api.own_kinds.find(kind));
  if (!built_in && !own) {
    co_return fail(ErrorCode::kNotFound, no_such_kind(kind, CO_TRY(co_await api.own_kinds.all())));
  }
  const auto body = CO_TRY(co_await request.body->read_all(kMaxBodyBytes));
  const auto change = CO_TRY(members_in<KindChange>(body)).change;
  const bool limits = change.max_running || change.max_per_second || change.queue;
  if (limits && own) {
    co_return fail(ErrorCode::kInvalidInput,
                   "A kind of your own can be paused here. Its declaration has its limits: "
                   "perKey of PUT /v1/kinds/" +
                       kind + ".");
  }
  // An operator may pause a kind; its queue, its rate and its number of running jobs are the decision of an admin.
  if (limits) CO_TRY(action.caller.must_be(Role::kAdmin));
  action.detail = body;
  const auto limit = CO_TRY(co_await api.limits.set(jobs::kind_target(kind), change));
  if (own) CO_TRY(co_await api.work->facts(true));
  co_return json_response(200, json_of(own ? CO_TRY(co_await shown_own(api, std::move(*own))) : ShownKind{limit}));
}

}  // namespace

void rate_members(jobs::SpecMembers& in, jobs::LimitChange& change) {
  in.number("maxRunning", change.max_running, 0, jobs::kMaxRunningLimit, kAboutRunning);
  in.number("maxPerSecond", change.max_per_second, 0, jobs::kMaxPerSecondLimit, kAboutPerSecond);
}

void show_rates(jobs::SpecMembers& to, const jobs::Limit& limit) {
  to.shows("maxRunning", limit.max_running, kAboutRunning);
  to.shows("maxPerSecond", limit.max_per_second, kAboutPerSecond);
}

std::string no_such_kind(const std::string& name, const jobs::OwnKinds& own) {
  std::vector<std::string> kinds(jobs::Kinds::kNames.begin(), jobs::Kinds::kNames.end());
  for (const auto& kind : own) kinds.push_back(kind.name);
  return "There is no kind of job \"" + name + "\"." + guess_of(name, kinds);
}

std::span<const Route> kind_routes() {
  static constexpr Route kRoutes[] = {
      {"GET", "v1/kinds", Role::kViewer, list_kinds},     {"GET", "v1/kinds/*", Role::kViewer, show_kind},
      {"PUT", "v1/kinds/*", Role::kAdmin, put_kind},      {"DELETE", "v1/kinds/*", Role::kAdmin, drop_kind},
      {"PATCH", "v1/kinds/*", Role::kOperator, set_kind},
  };
  return kRoutes;
}

nlohmann::ordered_json kind_schemas() {
  nlohmann::ordered_json out;
  jobs::add_requests<KindChange, jobs::OwnKind>(out);
  jobs::add_answers<ShownKind>(out);
  return out;
}

}  // namespace tidemark::api
