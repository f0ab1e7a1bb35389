// Limits of kinds, tables and partitions; and kinds, which can also be paused.
#include "api/rest/api_routes.h"
#include "api/rest/render.h"
#include "api/rest/request_body.h"
#include "api/rest/resource_names.h"
#include "common/base/nearest_word.h"
#include "jobs/kinds/kinds.h"
#include "jobs/spec/job_queues.h"

namespace tidemark::api {
namespace {

using nlohmann::json;

constexpr jobs::About kAboutRunning{
    .meaning = "jobs that run at once, over all workers; for a partition, their transactions; 0: no limit"};
constexpr jobs::About kAboutPerSecond{.meaning =
                                          "entities that jobs change in a second, over all workers; 0: no limit"};

void rate_members(jobs::SpecMembers& in, jobs::LimitChange& change) {
  in.number("maxRunning", change.max_running, 0, jobs::kMaxRunningLimit, kAboutRunning);
  in.number("maxPerSecond", change.max_per_second, 0, jobs::kMaxPerSecondLimit, kAboutPerSecond);
}

void show_rates(jobs::SpecMembers& to, const jobs::Limit& limit) {
  to.shows("maxRunning", limit.max_running, kAboutRunning);
  to.shows("maxPerSecond", limit.max_per_second, kAboutPerSecond);
}

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

struct ShownKind {
  jobs::Limit limit;
  static constexpr const char* kSchema = "Kind";
  void members(jobs::SpecMembers& to) const {
    to.shows("kind", limit.target.name, {.one_of = jobs::Kinds::kNames});
    to.shows("paused", limit.paused);
    show_rates(to, limit);
    to.shows_unless_empty("queue", limit.queue, {.meaning = "queue of the jobs that name none"});
  }
};

struct LimitRequest {
  jobs::LimitTarget target;
  jobs::LimitChange change;
  bool has_key = false;
  static constexpr const char* kSchema = "LimitChange";
  void members(jobs::SpecMembers& in) {
    in.choice("scope", jobs::kLimitScopes, target.scope, kAboutScope, true);
    in.text("name", target.name, true, kAboutName);
    has_key = in.text("partitionKey", target.partition_key, kAboutKey);
    rate_members(in, change);
  }
  static constexpr jobs::About kAboutScope{.meaning = "what the limit is for"};
  static constexpr jobs::About kAboutName{.meaning = "the kind of job, or the table"};
  static constexpr jobs::About kAboutKey{.meaning = "the partition, if the limit is for one"};
};

struct ShownLimit {
  jobs::Limit limit;
  static constexpr const char* kSchema = "Limit";
  void members(jobs::SpecMembers& to) const {
    to.shows("scope", jobs::kLimitScopes, limit.target.scope, LimitRequest::kAboutScope);
    to.shows("name", limit.target.name, LimitRequest::kAboutName);
    const bool of_partition = limit.target.scope == jobs::LimitScope::kPartition;
    to.shows("partitionKey", of_partition ? std::optional(limit.target.partition_key) : std::nullopt,
             LimitRequest::kAboutKey);
    show_rates(to, limit);
  }
};

std::string no_such_kind(const std::string& name) {
  const std::vector<std::string> kinds(jobs::Kinds::kNames.begin(), jobs::Kinds::kNames.end());
  return "There is no kind of job \"" + name + "\"." + guess_of(name, kinds);
}

Result<void> check_target(const jobs::LimitTarget& target, bool has_key) {
  if (target.scope == jobs::LimitScope::kKind && !jobs::is_kind(target.name)) {
    return fail(ErrorCode::kNotFound, no_such_kind(target.name));
  }
  if (target.scope != jobs::LimitScope::kKind && !jobs::is_table_name(target.name)) {
    return fail(ErrorCode::kInvalidInput, "name must be the name of a table.");
  }
  if (has_key != (target.scope == jobs::LimitScope::kPartition)) {
    return fail(ErrorCode::kInvalidInput, "A partition's limit has a partitionKey, and no other has.");
  }
  return check_key("partitionKey", target.partition_key);
}

Answer list_limits(Api& api, http::Request&, std::string) {
  const auto limits = CO_TRY(co_await api.limits.list());
  auto list = json::array();
  for (const auto& limit : limits) {
    if (limit.max_running > 0 || limit.max_per_second > 0) list.push_back(json_of(ShownLimit{limit}));
  }
  co_return json_response(200, {{"limits", std::move(list)}});
}

Answer set_limit(Api& api, http::Request& request, Action& action, std::string) {
  const auto body = CO_TRY(co_await request.body->read_all(kMaxBodyBytes));
  auto asked = CO_TRY(members_in<LimitRequest>(body));
  CO_TRY(check_target(asked.target, asked.has_key));
  action.target = asked.target.name;
  action.detail = body;
  const auto limit = CO_TRY(co_await api.limits.set(std::move(asked.target), asked.change));
  co_return json_response(200, json_of(ShownLimit{limit}));
}

Answer list_kinds(Api& api, http::Request&, std::string) {
  const auto set = CO_TRY(co_await api.limits.list());
  auto list = json::array();
  for (const auto kind : jobs::Kinds::kNames) {
    jobs::Limit limit;
    limit.target = jobs::kind_target(kind);
    for (const auto& known : set) {
      if (known.target == limit.target) limit = known;
    }
    list.push_back(json_of(ShownKind{limit}));
  }
  co_return json_response(200, {{"kinds", std::move(list)}});
}

Answer set_kind(Api& api, http::Request& request, Action& action, std::string kind) {
  if (!jobs::is_kind(kind)) {
    co_return fail(ErrorCode::kNotFound, no_such_kind(kind));
  }
  const auto body = CO_TRY(co_await request.body->read_all(kMaxBodyBytes));
  const auto change = CO_TRY(members_in<KindChange>(body)).change;
  // An operator may pause a kind; its queue, its rate and its number of running jobs are the decision of an admin.
  if (change.max_running || change.max_per_second || change.queue) CO_TRY(action.caller.must_be(Role::kAdmin));
  action.detail = body;
  const auto limit = CO_TRY(co_await api.limits.set(jobs::kind_target(kind), change));
  co_return json_response(200, json_of(ShownKind{limit}));
}

}  // namespace

std::span<const Route> limit_routes() {
  static constexpr Route kRoutes[] = {
      {"GET", "v1/kinds", Role::kViewer, list_kinds},
      {"PATCH", "v1/kinds/*", Role::kOperator, set_kind},
      {"GET", "v1/limits", Role::kViewer, list_limits},
      {"PATCH", "v1/limits", Role::kAdmin, set_limit},
  };
  return kRoutes;
}

nlohmann::ordered_json limit_schemas() {
  nlohmann::ordered_json out;
  jobs::add_requests<KindChange, LimitRequest>(out);
  jobs::add_answers<ShownKind, ShownLimit>(out);
  return out;
}

}  // namespace tidemark::api
