#include "api/rest/api_routes.h"

#include "api/rest/render.h"
#include "common/base/encoding.h"

namespace tidemark::api {
namespace {

/// The path's segments, decoded; nothing if the path is not a valid one.
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

/// `pattern`: "v1/jobs/*/cancel". Gives what stands for '*'.
std::optional<std::string> match(std::string_view pattern, const std::vector<std::string>& path) {
  std::string id;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const auto end = pattern.find('/');
    const auto part = pattern.substr(0, end);
    if (part == "*") {
      if (path[i].empty()) return std::nullopt;
      id = path[i];
    } else if (part != path[i]) {
      return std::nullopt;
    }
    if (end == std::string_view::npos) return i + 1 == path.size() ? std::optional(id) : std::nullopt;
    pattern.remove_prefix(end + 1);
  }
  return std::nullopt;
}

}  // namespace

struct ApiRoutes::Route {
  std::string_view method;
  std::string_view pattern;
  Handler handler;
  bool open = false;  // needs no token
};

const ApiRoutes::Route ApiRoutes::kRoutes[] = {
    {"POST", "v1/jobs", &ApiRoutes::submit_job},
    {"GET", "v1/jobs", &ApiRoutes::list_jobs},
    {"POST", "v1/jobs/batch", &ApiRoutes::submit_jobs},
    {"GET", "v1/jobs/*", &ApiRoutes::show_job},
    {"POST", "v1/jobs/*/cancel", &ApiRoutes::cancel_job},
    {"GET", "v1/jobs/*/events", &ApiRoutes::job_events},
    {"GET", "v1/groups/*", &ApiRoutes::show_group},
    {"GET", "v1/poison", &ApiRoutes::list_poison},
    {"GET", "v1/poison/groups", &ApiRoutes::group_poison},
    {"GET", "v1/poison/*", &ApiRoutes::show_poison},
    {"PUT", "v1/poison/*", &ApiRoutes::edit_poison},
    {"DELETE", "v1/poison/*", &ApiRoutes::remove_poison},
    {"GET", "v1/poison/*/plan", &ApiRoutes::plan_poison},
    {"POST", "v1/poison/*/redrive", &ApiRoutes::redrive_poison},
    {"GET", "v1/queues", &ApiRoutes::list_queues},
    {"GET", "v1/queues/*", &ApiRoutes::show_queue},
    {"POST", "v1/queues/*/pause", &ApiRoutes::pause_queue},
    {"POST", "v1/queues/*/resume", &ApiRoutes::resume_queue},
    {"GET", "v1/kinds", &ApiRoutes::list_kinds},
    {"PATCH", "v1/kinds/*", &ApiRoutes::set_kind},
    {"GET", "v1/limits", &ApiRoutes::list_limits},
    {"PATCH", "v1/limits", &ApiRoutes::set_limit},
    {"GET", "v1/explain", &ApiRoutes::explain},
    {"GET", "v1/schedules", &ApiRoutes::list_schedules},
    {"GET", "v1/schedules/*", &ApiRoutes::show_schedule},
    {"PUT", "v1/schedules/*", &ApiRoutes::put_schedule},
    {"DELETE", "v1/schedules/*", &ApiRoutes::remove_schedule},
    {"POST", "v1/schedules/*/pause", &ApiRoutes::pause_schedule},
    {"POST", "v1/schedules/*/resume", &ApiRoutes::resume_schedule},
    {"POST", "v1/schedules/*/run", &ApiRoutes::run_schedule},
    {"GET", "v1/workers", &ApiRoutes::list_workers},
    {"GET", "openapi.json", &ApiRoutes::openapi},
    {"GET", "healthz", &ApiRoutes::healthy, true},
    {"GET", "readyz", &ApiRoutes::ready, true},
    {"GET", "metrics", &ApiRoutes::metrics, true},
};

Result<void> ApiRoutes::authorize(const http::Request& request) const {
  if (options_.token.empty()) return {};
  const auto header = request.header("authorization");
  if (!header) return fail(ErrorCode::kUnauthorized, "A bearer token is required.");
  constexpr std::string_view kScheme = "Bearer ";
  const bool good = header->starts_with(kScheme) && constant_time_equal(header->substr(kScheme.size()), options_.token);
  if (!good) return fail(ErrorCode::kUnauthorized, "This is not the bearer token.");
  return {};
}

Task<http::Response> ApiRoutes::serve(http::Request& request) {
  auto answer = co_await route(request);
  if (!answer) co_return problem(answer.error(), request.request_id);
  if (!answer->headers.find("x-request-id")) answer->set("x-request-id", request.request_id);
  co_return std::move(*answer);
}

Task<Result<http::Response>> ApiRoutes::route(http::Request& request) {
  const auto path = segments_of(request.path);
  const Route* chosen = nullptr;
  std::string id;
  std::string allowed;
  for (const auto& candidate : kRoutes) {
    auto found = path ? match(candidate.pattern, *path) : std::nullopt;
    if (!found) continue;
    if (candidate.method == request.method) {
      chosen = &candidate;
      id = std::move(*found);
      break;
    }
    allowed += (allowed.empty() ? "" : ", ") + std::string(candidate.method);
  }
  if (chosen == nullptr || !chosen->open) CO_TRY(authorize(request));
  if (chosen != nullptr) co_return co_await (this->*chosen->handler)(request, std::move(id));
  if (allowed.empty()) co_return fail(ErrorCode::kNotFound);
  auto refusal = problem(make_error(ErrorCode::kUnsupportedHttpVerb), request.request_id);
  refusal.set("Allow", allowed);
  co_return refusal;
}

}  // namespace tidemark::api
