// On-change declarations of tables: a signed webhook, a message to a queue, or a job, for each change that matches.
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

constexpr std::array kOnChangeStates{feeds::kRunning, feeds::kStopped, feeds::kPaused};

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
    to.shows("state", on_change.paused ? std::string(feeds::kPaused) : progress.state,
             {.meaning = "stopped: a change could not be told, changes are no longer kept, or a limit was reached; "
                         "stopped and paused, it waits for resume",
              .one_of = kOnChangeStates});
    to.shows("token", token(), {.meaning = "everything up to here was told"});
    to.shows("told", progress.told, {.meaning = "changes that were told, or have made a job"});
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

/// Checks the jobs that the rule of a declaration makes, as a submission of one of them would be.
Task<Result<void>> check_jobs(Api& api, const feeds::OnChangeDefinition& definition, const std::string& table,
                              const Caller& caller) {
  if (!definition.rule) co_return Result<void>{};
  const auto sample = CO_TRY(feeds::sample_of(*definition.rule, table));
  if (!sample) co_return Result<void>{};
  CO_TRY(api.admit(*sample, caller));
  co_return co_await api.check_kinds(*sample);
}

Answer put_on_change(Api& api, http::Request& request, Action& action, std::string both) {
  auto name = CO_TRY(on_change_name_in(both));
  const auto body = CO_TRY(co_await request.body->read_all(kMaxBodyBytes));
  auto asked = CO_TRY(feeds::parse_on_change(body));
  CO_TRY(
      feeds::check_on_change(asked.definition, CO_TRY(co_await api.tables.feed(name.table, {})).feed, api.callbacks));
  CO_TRY(co_await check_jobs(api, asked.definition, name.table, action.caller));
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

constexpr std::uint32_t kMostTested = 1000;  // changes
constexpr std::size_t kMostShown = 20;       // jobs

struct OnChangeTest {
  std::string after = "oldest";
  std::uint32_t limit = kMostTested;
  std::optional<feeds::OnChangeRequest> definition;
  static constexpr const char* kSchema = "OnChangeTest";
  void members(jobs::SpecMembers& in) {
    in.text("after", after, {.meaning = "oldest, now or a token"});
    in.number("limit", limit, 1, kMostTested, {.meaning = "changes to look at"});
    in.object("definition", definition, "a declaration", {.meaning = "try this one instead of the one of this name"});
  }
};

/// A change, and the job that it would make.
struct TestedChange {
  std::string partition_key, row_key;
  table_store::Version version = 0;
  nlohmann::json job;
  std::string problem;
  void members(jobs::SpecMembers& to) const {
    to.shows("partitionKey", partition_key);
    to.shows("rowKey", row_key);
    to.shows("version", std::to_string(version));
    to.shows_json("job", {{"type", "object"}}, nlohmann::ordered_json(job), {.meaning = "the job that it would make"});
    to.shows_unless_empty("problem", problem, {.meaning = "why the declaration would stop there"});
  }
};

struct OnChangeTested {
  std::uint64_t changes = 0, matches = 0;
  std::vector<TestedChange> first;
  std::string next;
  bool more = false;
  static constexpr const char* kSchema = "OnChangeTested";
  void members(jobs::SpecMembers& to) const {
    to.shows("changes", changes, {.meaning = "changes that were looked at"});
    to.shows("matches", matches, {.meaning = "changes that would be told, or make a job"});
    to.shows("first", first, {.meaning = "the first 20 of these, and those that cannot be dealt with"});
    to.shows("next", next, {.meaning = "token of the place behind the last change that was looked at"});
    to.shows("more", more, {.meaning = "there are changes from there on"});
  }
};

/// Finds out what a declaration does with a change; nothing if it passes it by.
Result<std::optional<TestedChange>> tested(const OnChange& on_change, const table_store::Filter& filter,
                                           const table_store::Change& change) {
  const auto& definition = on_change.definition;
  TestedChange out{change.partition_key, change.row_key, change.version, {}, {}};
  if (!definition.rule) {
    if (!feeds::concerns(definition.when, filter, change)) return std::nullopt;
    return out;
  }
  const auto mark = jobs::mark_of_rule(on_change.name, on_change.id);
  const auto makes = feeds::makes_job(*definition.rule, definition.when, mark, filter, change);
  if (makes && !*makes) return std::nullopt;
  const auto job = makes ? feeds::job_for(*definition.rule, on_change.table, change) : fail(makes.error());
  if (job) out.job = to_json(*job);
  if (!job) out.problem = job.error().message;
  return out;
}

Answer test_on_change(Api& api, http::Request& request, std::string both) {
  auto name = CO_TRY(on_change_name_in(both));
  auto asked = CO_TRY(co_await read_members<OnChangeTest>(request));
  OnChange on_change;
  if (asked.definition) {
    on_change.table = name.table;
    on_change.name = name.name;
    on_change.definition = std::move(asked.definition->definition);
    const auto feed = CO_TRY(co_await api.tables.feed(name.table, {})).feed;
    CO_TRY(feeds::check_on_change(on_change.definition, feed, api.callbacks));
  } else {
    on_change = CO_TRY(co_await api.on_changes.get(name.table, name.name));
  }
  const auto filter = CO_TRY(table_store::Filter::parse(on_change.definition.filter));
  auto reading = CO_TRY(feeds::parse_start(name.table, asked.after));
  reading.limit = asked.limit;
  reading.old_values = reading.new_values = true;
  const auto page = CO_TRY(co_await api.tables.changes(name.table, std::move(reading)));
  OnChangeTested out;
  for (const auto& change : page.changes) {
    ++out.changes;
    auto found = CO_TRY(tested(on_change, filter, change));
    if (!found) continue;
    if (found->problem.empty()) ++out.matches;
    if (out.first.size() < kMostShown || !found->problem.empty()) out.first.push_back(std::move(*found));
  }
  out.next = feeds::token_of(name.table, page.next);
  out.more = page.more;
  co_return json_response(200, json_of(std::move(out)));
}

Answer pause_on_change(Api& api, http::Request&, std::string both) {
  auto name = CO_TRY(on_change_name_in(both));
  auto paused = CO_TRY(co_await api.on_changes.pause(std::move(name.table), std::move(name.name)));
  co_return co_await answer_one(api, 202, std::move(paused));
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
      {"POST", "v1/tables/*/onChange/*/test", Role::kOperator, test_on_change},
      {"POST", "v1/tables/*/onChange/*/pause", Role::kOperator, pause_on_change},
      {"POST", "v1/tables/*/onChange/*/resume", Role::kOperator, resume_on_change},
  };
  return kRoutes;
}

nlohmann::ordered_json on_change_schemas() {
  nlohmann::ordered_json out;
  jobs::add_requests<feeds::OnChangeRequest, Resumption, OnChangeTest>(out);
  jobs::add_answers<ShownOnChange, OnChangeTested>(out);
  return out;
}

}  // namespace tidemark::api
