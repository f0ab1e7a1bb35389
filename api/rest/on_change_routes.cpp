// On-change declarations of tables: a signed webhook, or a message to a queue, for each change that matches.
#include "api/rest/api_routes.h"
#include "api/rest/feed_pages.h"
#include "api/rest/parameters.h"
#include "api/rest/render.h"
#include "api/rest/request_body.h"
#include "api/rest/resource_names.h"
#include "common/base/encoding.h"
#include "feeds/tokens/start_token.h"
#include "feeds/tokens/token.h"

namespace tidemark::api {
namespace {

using feeds::OnChange;
using nlohmann::json;

struct OnChangeName {
  std::string table, name;
};

/// Reads "TABLE/NAME".
Result<OnChangeName> on_change_name_in(const std::string& both) {
  const auto slash = both.find('/');
  OnChangeName name{both.substr(0, slash), both.substr(slash + 1)};
  TRY(check_table_name(name.table));
  if (feeds::is_on_change_name(name.name)) return name;
  return fail(ErrorCode::kInvalidInput,
              "A declaration's name has 1 to 63 letters, digits, '.', '_' and '-', a letter or digit first.");
}

json on_change_json(const OnChange& on_change, const feeds::OnChangeProgress& progress) {
  json out{{"name", on_change.name},
           {"table", on_change.table},
           {"definition", feeds::to_json(on_change.definition)},
           {"createdAt", to_iso8601(on_change.created_at)},
           {"state", progress.state},
           {"token", progress.token.empty() ? on_change.start : progress.token},
           {"told", progress.told},
           {"passedBy", progress.passed_by},
           {"attempts", progress.attempts}};
  if (!progress.failed.empty()) out["failed"] = progress.failed;
  if (!progress.last_error.empty()) {
    out["lastError"] = {{"message", progress.last_error}, {"at", to_iso8601(progress.last_error_at)}};
  }
  if (on_change.resumes_asked > progress.resumes) out["resumeAsked"] = true;
  return out;
}

Task<Result<json>> show(Api& api, OnChange on_change) {
  const auto progress = CO_TRY(co_await api.on_changes.progress(on_change.id));
  auto out = on_change_json(on_change, progress);
  const auto place = feeds::parse_token(on_change.table, out["token"].get_ref<const std::string&>());
  auto status = co_await api.tables.feed(on_change.table, {place.value_or(table_store::FeedPlace{})});
  if (status.failed_with(ErrorCode::kFeedNotFound)) co_return out;
  add_lag(out, CO_TRY(std::move(status)).places.front(), api.clock.now());
  co_return out;
}

Answer answer_one(Api& api, unsigned http_status, OnChange on_change) {
  co_return json_response(http_status, CO_TRY(co_await show(api, std::move(on_change))));
}

Answer put_on_change(Api& api, http::Request& request, std::string both) {
  auto name = CO_TRY(on_change_name_in(both));
  const auto body = CO_TRY(co_await request.body->read_all(kMaxBodyBytes));
  auto asked = CO_TRY(feeds::parse_on_change(body));
  CO_TRY(
      feeds::check_on_change(asked.definition, CO_TRY(co_await api.tables.feed(name.table, {})).feed, api.callbacks));
  auto start = CO_TRY(co_await feeds::token_for(api.tables, name.table, std::move(asked.after)));
  if (!asked.definition.queue.empty()) CO_TRY(co_await api.queues.ensure_queue(asked.definition.queue));
  auto stored = CO_TRY(co_await api.on_changes.put(std::move(name.table), std::move(name.name),
                                                   std::move(asked.definition), std::move(start)));
  co_return co_await answer_one(api, stored.created ? 201 : 200, std::move(stored.on_change));
}

Answer list_on_changes(Api& api, http::Request&, std::string table) {
  CO_TRY(check_table_name(table));
  auto list = json::array();
  for (auto& each : CO_TRY(co_await api.on_changes.all())) {
    if (iequals_ascii(each.table, table)) list.push_back(CO_TRY(co_await show(api, std::move(each))));
  }
  co_return json_response(200, {{"onChange", std::move(list)}});
}

Answer show_on_change(Api& api, http::Request&, std::string both) {
  auto name = CO_TRY(on_change_name_in(both));
  co_return co_await answer_one(api, 200,
                                CO_TRY(co_await api.on_changes.get(std::move(name.table), std::move(name.name))));
}

Answer resume_on_change(Api& api, http::Request& request, std::string both) {
  auto name = CO_TRY(on_change_name_in(both));
  const auto body = CO_TRY(co_await read_json_object(request));
  jobs::SpecMembers in(body);
  std::string after;
  in.text("after", after);
  CO_TRY(refuse_problems(in));
  if (!after.empty()) after = CO_TRY(co_await feeds::token_for(api.tables, name.table, std::move(after)));
  auto resumed = CO_TRY(co_await api.on_changes.resume(std::move(name.table), std::move(name.name), std::move(after)));
  co_return co_await answer_one(api, 202, std::move(resumed));
}

Answer remove_on_change(Api& api, http::Request&, std::string both) {
  auto name = CO_TRY(on_change_name_in(both));
  CO_TRY(co_await api.on_changes.remove(std::move(name.table), std::move(name.name)));
  co_return no_content();
}

}  // namespace

std::span<const Route> on_change_routes() {
  static constexpr Route kRoutes[] = {
      {"GET", "v1/tables/*/onChange", Role::kViewer, list_on_changes},
      {"PUT", "v1/tables/*/onChange/*", Role::kOperator, put_on_change},
      {"GET", "v1/tables/*/onChange/*", Role::kViewer, show_on_change},
      {"DELETE", "v1/tables/*/onChange/*", Role::kOperator, remove_on_change},
      {"POST", "v1/tables/*/onChange/*/resume", Role::kOperator, resume_on_change},
  };
  return kRoutes;
}

}  // namespace tidemark::api
