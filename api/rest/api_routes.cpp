#include "api/rest/api_routes.h"

#include <array>
#include <map>

#include "api/rest/render.h"
#include "common/base/encoding.h"
#include "common/process/failures.h"

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

/// Gives what stands for '*' in the pattern; of two, both with '/' between them.
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

const auto& areas() {
  static const std::array all{job_routes(),      poison_routes(),    schedule_routes(), index_routes(),   feed_routes(),
                              consumer_routes(), on_change_routes(), limit_routes(),    operator_routes()};
  return all;
}

/// "POST v1/jobs/*/cancel", for metrics and spans.
std::string_view operation_of(const Route& route) {
  static const auto names = [] {
    std::map<const Route*, std::string> out;
    for (const auto& area : areas()) {
      for (const auto& each : area) out[&each] = std::string(each.method) + " " + std::string(each.pattern);
    }
    return out;
  }();
  return names.at(&route);
}

}  // namespace

Task<http::Response> ApiRoutes::serve(http::Request& request) {
  auto answer = co_await route(request);
  if (!answer) {
    // The query may hold what somebody looks for: not logged.
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
  const auto path = segments_of(request.path);
  // A HEAD is answered like a GET; the server leaves the body away.
  const std::string_view method = request.method == "HEAD" ? "GET" : std::string_view(request.method);
  const Route* chosen = nullptr;
  std::string id;
  std::string allowed;
  for (const auto& area : areas()) {
    for (const auto& candidate : area) {
      auto found = path && chosen == nullptr ? match(candidate.pattern, *path) : std::nullopt;
      if (!found) continue;
      if (candidate.method == method) {
        chosen = &candidate;
        id = std::move(*found);
      } else {
        allowed += (allowed.empty() ? "" : ", ") + std::string(candidate.method);
      }
    }
  }
  if (chosen != nullptr) request.operation = operation_of(*chosen);
  CO_TRY(api_.entry.admit(request, chosen != nullptr ? chosen->entrance : Entrance::kToken));
  if (chosen != nullptr) co_return co_await chosen->handler(api_, request, std::move(id));
  if (allowed.empty()) co_return fail(ErrorCode::kNotFound);
  auto refusal = problem(make_error(ErrorCode::kUnsupportedHttpVerb), request.request_id);
  refusal.set("Allow", allowed);
  co_return refusal;
}

}  // namespace tidemark::api
