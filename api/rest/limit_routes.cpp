// Limits of kinds, tables and partitions; and kinds, which can also be paused.
#include "api/rest/api_routes.h"
#include "api/rest/render.h"
#include "api/rest/request_body.h"
#include "api/rest/resource_names.h"
#include "common/base/json.h"
#include "common/base/nearest_word.h"
#include "jobs/kinds/kinds.h"
#include "jobs/spec/job_queues.h"

namespace tidemark::api {
namespace {

using nlohmann::json;

/// Reads one member of a change; false if it is unknown, or its value is invalid.
bool read_member(const std::string& name, const json& value, jobs::LimitChange& change) {
  const auto number = value.is_number_unsigned() ? value.get<std::uint64_t>() : UINT64_MAX;
  if (name == "maxRunning" && number <= jobs::kMaxRunningLimit) {
    change.max_running = static_cast<std::uint32_t>(number);
    return true;
  }
  if (name == "maxPerSecond" && number <= jobs::kMaxPerSecondLimit) {
    change.max_per_second = static_cast<std::uint32_t>(number);
    return true;
  }
  return false;
}

/// Returns the stored form: "default" means no choice.
Result<std::string> read_queue(std::string name) {
  if (name == jobs::kDefaultQueue) return std::string();
  if (jobs::is_own_queue(name)) return name;
  return fail(ErrorCode::kInvalidInput, std::string("queue ").append(jobs::kQueueNameRule) + ".");
}

Result<jobs::LimitChange> read_kind_change(const std::string& body) {
  const auto parsed = json_or_discarded(body);
  if (!parsed.is_object()) return fail(ErrorCode::kInvalidInput, "The body must be a JSON object.");
  jobs::LimitChange change;
  for (const auto& [name, value] : parsed.items()) {
    if (name == "paused" && value.is_boolean()) {
      change.paused = value.get<bool>();
    } else if (name == "queue" && value.is_string()) {
      change.queue = TRY(read_queue(value.get<std::string>()));
    } else if (!read_member(name, value, change)) {
      return fail(ErrorCode::kInvalidInput,
                  "paused (true or false), maxRunning (0 to 1000), maxPerSecond (0 to 10000000) and queue (a name) can "
                  "be set.");
    }
  }
  return change;
}

struct LimitRequest {
  jobs::LimitTarget target;
  jobs::LimitChange change;
};

std::string no_such_kind(const std::string& name) {
  const std::vector<std::string> kinds(jobs::Kinds::kNames.begin(), jobs::Kinds::kNames.end());
  const auto meant = nearest_word(name, kinds);
  return "There is no kind of job \"" + name + "\"." + (meant ? " Did you mean \"" + *meant + "\"?" : "");
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

Result<LimitRequest> read_limit(const std::string& body) {
  const auto parsed = json_or_discarded(body);
  if (!parsed.is_object()) return fail(ErrorCode::kInvalidInput, "The body must be a JSON object.");
  LimitRequest request;
  std::optional<jobs::LimitScope> scope;
  bool has_key = false;
  for (const auto& [name, value] : parsed.items()) {
    if (name == "scope" && value.is_string()) {
      scope = jobs::scope_from_name(value.get<std::string>());
    } else if (name == "name" && value.is_string()) {
      request.target.name = value.get<std::string>();
    } else if (name == "partitionKey" && value.is_string()) {
      request.target.partition_key = value.get<std::string>();
      has_key = true;
    } else if (!read_member(name, value, request.change)) {
      return fail(ErrorCode::kInvalidInput,
                  "A limit has scope, name, partitionKey, maxRunning (0 to 1000) and maxPerSecond (0 to 10000000).");
    }
  }
  if (!scope) return fail(ErrorCode::kInvalidInput, "scope must be kind, table or partition.");
  request.target.scope = *scope;
  TRY(check_target(request.target, has_key));
  return request;
}

Answer list_limits(Api& api, http::Request&, std::string) {
  const auto limits = CO_TRY(co_await api.limits.list());
  auto list = json::array();
  for (const auto& limit : limits) {
    if (limit.max_running > 0 || limit.max_per_second > 0) list.push_back(to_json(limit));
  }
  co_return json_response(200, {{"limits", std::move(list)}});
}

Answer set_limit(Api& api, http::Request& request, Action& action, std::string) {
  const auto body = CO_TRY(co_await request.body->read_all(kMaxBodyBytes));
  auto asked = CO_TRY(read_limit(body));
  action.target = asked.target.name;
  action.detail = body;
  const auto limit = CO_TRY(co_await api.limits.set(std::move(asked.target), asked.change));
  co_return json_response(200, to_json(limit));
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
    list.push_back(kind_json(limit));
  }
  co_return json_response(200, {{"kinds", std::move(list)}});
}

Answer set_kind(Api& api, http::Request& request, Action& action, std::string kind) {
  if (!jobs::is_kind(kind)) {
    co_return fail(ErrorCode::kNotFound, no_such_kind(kind));
  }
  const auto body = CO_TRY(co_await request.body->read_all(kMaxBodyBytes));
  auto change = CO_TRY(read_kind_change(body));
  // An operator may pause a kind; its queue, its rate and its number of running jobs are the decision of an admin.
  if (change.max_running || change.max_per_second || change.queue) CO_TRY(action.caller.must_be(Role::kAdmin));
  action.detail = body;
  const auto limit = CO_TRY(co_await api.limits.set(jobs::kind_target(kind), change));
  co_return json_response(200, kind_json(limit));
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

}  // namespace tidemark::api
