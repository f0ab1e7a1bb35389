// Limits of kinds, tables and partitions.
#include "api/rest/api_routes.h"
#include "api/rest/kind_members.h"
#include "api/rest/render.h"
#include "api/rest/request_body.h"
#include "api/rest/resource_names.h"
#include "jobs/kinds/kinds.h"

namespace tidemark::api {
namespace {

using nlohmann::json;

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

Result<void> check_target(const jobs::LimitTarget& target, bool has_key) {
  if (target.scope == jobs::LimitScope::kKind && !jobs::is_kind(target.name)) {
    return fail(ErrorCode::kNotFound, no_such_kind(target.name, {}));
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

}  // namespace

std::span<const Route> limit_routes() {
  static constexpr Route kRoutes[] = {
      {"GET", "v1/limits", Role::kViewer, list_limits},
      {"PATCH", "v1/limits", Role::kAdmin, set_limit},
  };
  return kRoutes;
}

nlohmann::ordered_json limit_schemas() {
  nlohmann::ordered_json out;
  jobs::add_requests<LimitRequest>(out);
  jobs::add_answers<ShownLimit>(out);
  return out;
}

}  // namespace tidemark::api
