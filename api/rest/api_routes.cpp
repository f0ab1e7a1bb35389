#include "api/rest/api_routes.h"

#include <map>

#include "api/rest/console_files.h"
#include "api/rest/described_parameters.h"
#include "api/rest/render.h"
#include "api/rest/shard_routes.h"
#include "api/rest/trail.h"
#include "common/base/encoding.h"
#include "common/base/text.h"
#include "common/process/failures.h"
#include "jobs/spec/job_schemas.h"

namespace tidemark::api {

using nlohmann::ordered_json;

namespace {

constexpr std::size_t kShownPathBytes = 200;
constexpr int kTriesOfOutcome = 10;
constexpr Duration kPauseBetweenTries = std::chrono::seconds(1);

/// Returns the path's segments, decoded; nothing if the path is invalid.
std::optional<std::vector<std::string>> segments_of(std::string_view path) {
  std::vector<std::string> segments;
  while (!path.empty()) {
    path.remove_prefix(1);
    const auto end = path.find('/');
    auto decoded = percent_decode(path.substr(0, end), false);
    if (!decoded) return std::nullopt;
    segments.push_back(std::move(*decoded));
    path.remove_prefix(end == std::string_view::npos ? path.size() : end);
  }
  return segments;
}

/// Returns the text that stands for '*' in the pattern; for two of them, both with '/' between them.
std::optional<std::string> match(std::string_view pattern, const std::vector<std::string>& path) {
  std::string id;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const auto end = pattern.find('/');
    const auto part = pattern.substr(0, end);
    if (part == "*") {
      if (path[i].empty()) return std::nullopt;
      id += (id.empty() ? "" : "/") + path[i];
    } else if (part != path[i]) {
      return std::nullopt;
    }
    if (end == std::string_view::npos) return i + 1 == path.size() ? std::optional(id) : std::nullopt;
    pattern.remove_prefix(end + 1);
  }
  return std::nullopt;
}

/// "POST v1/jobs/*/cancel", for metrics and spans.
std::string_view metrics_name_of(const Route& route) {
  static const auto names = [] {
    std::map<const Route*, std::string> out;
    for (const auto& area : all_routes()) {
      for (const auto& each : area) out[&each] = std::string(each.method) + " " + std::string(each.pattern);
    }
    return out;
  }();
  return names.at(&route);
}

struct Found {
  const Route* route = nullptr;
  std::string name;     // the text that stands for '*'
  std::string allowed;  // the methods of other routes with this path
};

Found find_route(const http::Request& request) {
  const auto path = segments_of(request.path);
  // A HEAD is answered like a GET; the server omits the body.
  const std::string_view method = request.method == "HEAD" ? "GET" : std::string_view(request.method);
  Found out;
  for (const auto& area : all_routes()) {
    for (const auto& candidate : area) {
      auto name = path && out.route == nullptr ? match(candidate.pattern, *path) : std::nullopt;
      if (!name) continue;
      if (candidate.method == method) {
        out.route = &candidate;
        out.name = std::move(*name);
      } else {
        out.allowed += (out.allowed.empty() ? "" : ", ") + std::string(candidate.method);
      }
    }
  }
  return out;
}

Result<void> may(const Route& route, const Caller& caller, const http::Request& request) {
  TRY(caller.must_be(route.role));
  return route.method == "GET" ? Result<void>() : Entry::check_csrf(request, caller);
}

/// Adds the name to an error that says no more than its code: "There is no such job: 7f...".
void say_what_is_missing(const std::string& name, Error& error) {
  if (http_status_of(error.code) != 404 || name.empty() || error.message != default_message_of(error.code)) return;
  while (error.message.ends_with('.')) error.message.pop_back();
  error.message += ": " + std::string(beginning_of(name, kShownPathBytes));
}

Answer handle(Api& api, const Route& route, Action& action, http::Request& request) {
  const auto name = action.target;
  const auto* plain = std::get_if<PlainHandler>(&route.handler);
  auto answer = plain != nullptr ? co_await (*plain)(api, request, name)
                                 : co_await std::get<ActionHandler>(route.handler)(api, request, action, name);
  if (!answer) say_what_is_missing(name, answer.error());
  co_return answer;
}

/// There are never more of these tasks than requests at once: while the store is away, no action begins.
Task<void> complete_later(Api& api, jobs::AuditEntry entry) {
  for (int attempt = 1; !api.stopping->load(); ++attempt) {
    co_await sleep_for(api.clock, kPauseBetweenTries);
    const auto noted = co_await api.audit.complete(entry);
    if (noted) co_return;
    if (attempt == kTriesOfOutcome) co_return log_lost_outcome(entry, noted.error());
  }
}

}  // namespace

const std::vector<std::span<const Route>>& all_routes() {
  static const std::vector<std::span<const Route>> kAll{
      access_routes(),      sas_routes(),      job_routes(),      poison_routes(),    schedule_routes(),
      index_routes(),       feed_routes(),     consumer_routes(), on_change_routes(), limit_routes(),
      maintenance_routes(), operator_routes(), shard_routes(),    data_routes(),      blob_routes(),
      queue_routes(),       policy_routes(),   kind_routes(),     work_routes()};
  return kAll;
}

Task<http::Response> ApiRoutes::serve(http::Request& request) {
  auto answer = co_await route(request);
  if (!answer) {
    // The query is not logged, because it may contain data that somebody searches for.
    const auto operation = std::string(request.method) + " " + std::string(request.path);
    process::log_failed_request(request.request_id, operation, answer.error(), request.trace);
  }
  auto response = answer ? std::move(*answer) : problem(answer.error(), request.request_id);
  if (!response.headers.find("x-request-id")) response.set("x-request-id", request.request_id);
  api_.entry.decorate(request, response);
  co_return response;
}

Answer ApiRoutes::route(http::Request& request) {
  if (auto preflight = api_.entry.preflight(request)) co_return std::move(*preflight);
  if (auto file = console_response(request)) co_return std::move(*file);
  auto found = find_route(request);
  const auto* const route = found.route;
  if (route != nullptr) request.operation = metrics_name_of(*route);
  auto caller = route != nullptr ? api_.entry.admit(request, route->entrance, route->body)
                                 : api_.entry.admit(request, Entrance::kToken);
  if (!caller) {
    const auto operation = std::string(request.method) + " " + std::string(beginning_of(request.path, kShownPathBytes));
    if (caller.failed_with(ErrorCode::kUnauthorized)) api_.strangers->refused(request.remote_address, operation);
    co_return fail(std::move(caller.error()));
  }
  if (route != nullptr) co_return co_await carry_out(*route, {std::move(*caller), std::move(found.name)}, request);
  if (found.allowed.empty()) co_return fail(ErrorCode::kNotFound);
  auto refusal = problem(make_error(ErrorCode::kUnsupportedHttpVerb), request.request_id);
  refusal.set("Allow", found.allowed);
  co_return refusal;
}

Answer ApiRoutes::carry_out(const Route& route, Action action, http::Request& request) {
  auto entry = entry_of(route, action, request);
  if (auto allowed = may(route, action.caller, request); !allowed) {
    co_await note_refusal(std::move(entry), allowed.error());
    co_return fail(std::move(allowed.error()));
  }
  CO_TRY(check_parameters(route, request));
  if (!leaves_entry(route, request)) co_return co_await handle(api_, route, action, request);
  auto begun = co_await api_.audit.add(std::move(entry));
  if (!begun) co_return fail(not_noted(begun.error()));
  auto answer = co_await handle(api_, route, action, request);
  note_answer(action, answer, *begun);
  // If the store has just gone away, the caller does not wait for it.
  const auto noted = co_await api_.audit.complete(*begun);
  if (!noted) spawn(co_await asio::this_coro::executor, complete_later(api_, std::move(*begun)));
  co_return answer;
}

Task<void> ApiRoutes::note_refusal(jobs::AuditEntry entry, Error error) {
  const auto left_out = refusals_.admit();
  if (!left_out) co_return;
  entry.outcome = jobs::outcome::kRefused;
  entry.status = static_cast<std::int32_t>(http_status_of(error.code));
  entry.code = azure_name_of(error.code);
  entry.detail = why_refused(error);
  if (*left_out > 0) entry.detail += " " + std::to_string(*left_out) + " refusals before it were left out.";
  const auto noted = co_await api_.audit.add(std::move(entry));
  if (!noted) process::log_failed_task("api.audit", noted.error());
}

ordered_json api_schemas() {
  auto all = jobs::job_schemas();
  for (const auto schemas :
       {access_schemas,    blob_schemas,     consumer_schemas, data_schemas,         explanation_schemas,
        feed_schemas,      index_schemas,    kind_schemas,     limit_schemas,        maintenance_schemas,
        on_change_schemas, operator_schemas, policy_schemas,   queue_poison_schemas, queue_schemas,
        rendered_schemas,  sas_schemas,      schedule_schemas, shard_schemas,        work_schemas}) {
    all.update(schemas());
  }
  return all;
}

}  // namespace tidemark::api
