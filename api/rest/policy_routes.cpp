// Stored access policies of tables, queues and containers. A shared access signature can refer to one by its id, and
// ends when the policy is changed or removed.
#include "api/rest/api_routes.h"
#include "api/rest/render.h"
#include "api/rest/request_body.h"
#include "api/rest/resource_names.h"
#include "blob_store/client/blob_browser.h"
#include "common/base/encoding.h"
#include "common/protocol/stored_policies.h"
#include "jobs/spec/spec_members.h"

namespace tidemark::api {
namespace {

enum class PolicyOf : std::uint8_t { kTable, kQueue, kContainer };

std::string_view letters_of(PolicyOf kind) {
  if (kind == PolicyOf::kTable) return "raud";
  return kind == PolicyOf::kQueue ? "raup" : "racwdxyltmeopfi";
}

struct Policy {
  std::string id, permissions;
  std::optional<Time> starts_at, expires_at;
  static constexpr const char* kSchema = "Policy";
  void members(jobs::SpecMembers& in) {
    in.text("id", id, true,
            {.meaning = "the name by which signatures refer to it", .least = 1, .most = protocol::kMaxPolicyIdLength});
    in.text("permissions", permissions,
            {.meaning = "letters as in Azure Storage, such as raud for a table; none: the signature says them"});
    in.time("startsAt", starts_at);
    in.time("expiresAt", expires_at, {.meaning = "absent: the signature says when it ends"});
  }
};

struct Policies {
  std::vector<Policy> policies;
  static constexpr const char* kSchema = "Policies";
  void members(jobs::SpecMembers& in) {
    if (in.describes()) {
      in.describe("policies",
                  {{"type", "array"}, {"maxItems", protocol::kMaxStoredPolicies}, {"items", jobs::reference("Policy")}},
                  {.meaning = "all that there are to be: others are removed"}, true);
    }
    if (in.writes()) in.put("policies", jobs::shown(policies));
    const auto* given = in.any("policies");
    if (given == nullptr || !given->is_array()) return read_nothing(in);
    for (const auto& each : *given) {
      if (!each.is_object()) return in.problem("policies must be a list of objects");
      in.nested("policies", each, policies.emplace_back());
    }
  }

 private:
  static void read_nothing(jobs::SpecMembers& in) {
    if (!in.describes() && !in.writes()) in.problem("policies must be a list, which may be empty");
  }
};

Result<StoredPolicies> stored(const Policies& asked, std::string_view letters) {
  const auto refuse = [](std::string why) { return fail(ErrorCode::kInvalidInput, std::move(why)); };
  if (asked.policies.size() > protocol::kMaxStoredPolicies) {
    return refuse("There can be at most " + std::to_string(protocol::kMaxStoredPolicies) +
                  " policies: remove or replace one that is not needed any more.");
  }
  StoredPolicies out;
  for (const auto& each : asked.policies) {
    if (each.id.empty() || !is_valid_utf8(each.id) || utf16_length(each.id) > protocol::kMaxPolicyIdLength) {
      return refuse("A policy's id has 1 to 64 characters.");
    }
    if (protocol::find_policy(out, each.id)) return refuse("The id " + each.id + " is given twice.");
    if (each.permissions.find_first_not_of(letters) != std::string::npos) {
      return refuse("The permissions of policy " + each.id + " must be letters of " + std::string(letters) + ".");
    }
    if (each.starts_at && each.expires_at && *each.expires_at <= *each.starts_at) {
      return refuse("The policy " + each.id + " expires before it starts.");
    }
    auto& policy = out.emplace_back(each.id);
    if (!each.permissions.empty()) policy.permission = each.permissions;
    policy.start = each.starts_at.transform(to_iso8601_7digits);
    policy.expiry = each.expires_at.transform(to_iso8601_7digits);
  }
  return out;
}

http::Response shown_policies(const StoredPolicies& policies) {
  const auto time_in = [](const std::optional<std::string>& text) {
    return text ? parse_iso8601(*text) : std::nullopt;
  };
  Policies out;
  for (const auto& each : policies) {
    out.policies.push_back({each.id, each.permission.value_or(""), time_in(each.start), time_in(each.expiry)});
  }
  return json_response(200, json_of(std::move(out)));
}

template <PolicyOf kind>
Task<Result<StoredPolicies>> policies_of(Api& api, std::string name) {
  if constexpr (kind == PolicyOf::kTable) {
    CO_TRY(check_table_name(name));
    co_return co_await api.tables.policies(std::move(name));
  } else if constexpr (kind == PolicyOf::kQueue) {
    CO_TRY(check_queue_name(name));
    co_return co_await api.queues.policies(std::move(name));
  } else {
    CO_TRY(check_container_name(name));
    co_return co_await api.blobs->policies(std::move(name));
  }
}

template <PolicyOf kind>
Answer list_policies(Api& api, http::Request&, std::string name) {
  co_return shown_policies(CO_TRY(co_await policies_of<kind>(api, std::move(name))));
}

template <PolicyOf kind>
Answer put_policies(Api& api, http::Request& request, Action& action, std::string name) {
  if constexpr (kind == PolicyOf::kTable) CO_TRY(check_may_change_table(name));
  if constexpr (kind == PolicyOf::kQueue) CO_TRY(check_may_change_queue(name));
  if constexpr (kind == PolicyOf::kContainer) CO_TRY(check_may_change_container(name));
  const auto body = CO_TRY(co_await request.body->read_all(kMaxBodyBytes));
  auto policies = CO_TRY(stored(CO_TRY(members_in<Policies>(body)), letters_of(kind)));
  action.detail = body;
  if constexpr (kind == PolicyOf::kTable) CO_TRY(co_await api.tables.set_policies(name, policies));
  if constexpr (kind == PolicyOf::kQueue) CO_TRY(co_await api.queues.set_policies(name, policies));
  if constexpr (kind == PolicyOf::kContainer) CO_TRY(co_await api.blobs->set_policies(name, policies));
  co_return shown_policies(policies);
}

}  // namespace

std::span<const Route> policy_routes() {
  using enum PolicyOf;
  static constexpr Route kRoutes[] = {
      {"GET", "v1/tables/*/policies", Role::kViewer, list_policies<kTable>},
      {"PUT", "v1/tables/*/policies", Role::kOperator, put_policies<kTable>},
      {"GET", "v1/queues/*/policies", Role::kViewer, list_policies<kQueue>},
      {"PUT", "v1/queues/*/policies", Role::kOperator, put_policies<kQueue>},
      {"GET", "v1/containers/*/policies", Role::kViewer, list_policies<kContainer>},
      {"PUT", "v1/containers/*/policies", Role::kOperator, put_policies<kContainer>},
  };
  return kRoutes;
}

nlohmann::ordered_json policy_schemas() {
  nlohmann::ordered_json out;
  jobs::add_requests<Policy, Policies>(out);
  return out;
}

}  // namespace tidemark::api
