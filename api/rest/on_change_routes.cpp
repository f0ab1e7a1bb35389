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

constexpr std::array kOnChangeStates{feeds::kRunning, feeds::kStopped};

struct OnChangeError {
  std::string message;
  Time at{};
  void members(jobs::SpecMembers& to) const {
    to.shows("message", message);
    to.shows("at", at);
  }
};

struct ShownOnChange {
  OnChange on_change;
  feeds::OnChangeProgress progress;
  ShownLag lag;
  static constexpr const char* kSchema = "OnChange";

  [[nodiscard]] const std::string& token() const { return progress.token.empty() ? on_change.start : progress.token; }
  void members(jobs::SpecMembers& to) const {
    to.shows("name", on_change.name);
    to.shows("table", on_change.table);
    to.shows("definition", on_change.definition);
    to.shows("createdAt", on_change.created_at);
    to.shows("state", progress.state,
             {.meaning = "stopped: a change could not be told, or changes are no longer kept; it waits for resume",
              .one_of = kOnChangeStates});
    to.shows("token", token(), {.meaning = "everything up to here was told"});
    to.shows("told", progress.told, {.meaning = "changes that were told"});
    to.shows("passedBy", progress.passed_by, {.meaning = "changes that the filter did not select"});
    to.shows("attempts", progress.attempts, {.meaning = "failed attempts to tell the next change"});
    to.shows_unless_empty("failed", progress.failed, {.meaning = "token before the change that could not be told"});
    const bool failed = !progress.last_error.empty();
    to.shows("lastError",
             failed ? std::optional(OnChangeError{progress.last_error, progress.last_error_at}) : std::nullopt);
    to.shows("resumeAsked", on_change.resumes_asked > progress.resumes ? std::optional(true) : std::nullopt);
    lag.members(to);
  }
};

Task<Result<json>> show(Api& api, OnChange on_change) {
  auto progress = CO_TRY(co_await api.on_changes.progress(on_change.id));
  ShownOnChange out{std::move(on_change), std::move(progress), {{}, api.clock.now()}};
  const auto place = feeds::parse_token(out.on_change.table, out.token());
  auto status = co_await api.tables.feed(out.on_change.table, {place.value_or(table_store::FeedPlace{})});
  if (!status && !status.failed_with(ErrorCode::kFeedNotFound)) co_return fail(std::move(status.error()));
  if (status) out.lag.place = status->places.front();
  co_return json_of(std::move(out));
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

struct Resumption {
  std::string after;
  static constexpr const char* kSchema = "OnChangeResumption";
  void members(jobs::SpecMembers& in) {
    in.text("after", after, {.meaning = "oldest, now or a token", .detail = "if absent, it goes on where it stopped"});
  }
};

Answer resume_on_change(Api& api, http::Request& request, std::string both) {
  auto name = CO_TRY(on_change_name_in(both));
  auto after = CO_TRY(co_await read_members<Resumption>(request)).after;
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

nlohmann::ordered_json on_change_schemas() {
  nlohmann::ordered_json out;
  jobs::add_requests<feeds::OnChangeRequest, Resumption>(out);
  jobs::add_answers<ShownOnChange>(out);
  return out;
}

}  // namespace tidemark::api
