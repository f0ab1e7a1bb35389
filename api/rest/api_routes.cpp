#include "api/rest/api_routes.h"

#include <charconv>

#include "api/rest/render.h"
#include "common/base/encoding.h"

namespace tidemark::api {
namespace {

constexpr std::size_t kMaxBodyBytes = 64UL << 10;
constexpr std::uint32_t kMaxPage = 1000;
constexpr std::uint32_t kDefaultPage = 100;

std::vector<std::string> segments_of(std::string_view path) {
  std::vector<std::string> segments;
  while (!path.empty()) {
    path.remove_prefix(1);
    const auto end = path.find('/');
    if (auto decoded = percent_decode(path.substr(0, end), false)) segments.push_back(std::move(*decoded));
    path.remove_prefix(end == std::string_view::npos ? path.size() : end);
  }
  return segments;
}

struct PageRequest {
  std::uint32_t limit = kDefaultPage;
  std::string continuation;
};

Result<PageRequest> read_page(const http::Request& request) {
  auto parameters = http::parse_query(request.query);
  if (!parameters) return fail(ErrorCode::kInvalidQueryParameterValue, "The query string has a broken percent escape.");
  PageRequest page;
  for (auto& [name, value] : *parameters) {
    if (name == "continuation") {
      page.continuation = std::move(value);
    } else if (name == "limit") {
      const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), page.limit);
      if (error != std::errc() || end != value.data() + value.size() || page.limit < 1 || page.limit > kMaxPage) {
        return fail(ErrorCode::kOutOfRangeQueryParameterValue, "limit must be a number from 1 to 1000.");
      }
    } else {
      return fail(ErrorCode::kInvalidQueryParameterValue,
                  "Unknown query parameter \"" + name + "\"; limit and continuation are known.");
    }
  }
  return page;
}

template <class Items>
http::Response page_response(const char* member, const Items& items, const std::string& continuation) {
  auto list = nlohmann::json::array();
  for (const auto& item : items) list.push_back(to_json(item));
  nlohmann::json body{{member, std::move(list)}};
  if (!continuation.empty()) body["continuation"] = continuation;
  return json_response(200, body);
}

}  // namespace

bool ApiRoutes::authorized(const http::Request& request) const {
  if (options_.token.empty()) return true;
  const auto header = request.header("authorization");
  constexpr std::string_view kScheme = "Bearer ";
  return header && header->starts_with(kScheme) && constant_time_equal(header->substr(kScheme.size()), options_.token);
}

Task<http::Response> ApiRoutes::serve(http::Request& request) {
  auto routing = route(request);
  auto response = co_await std::move(routing);
  response.set("x-request-id", request.request_id);
  co_return response;
}

Task<http::Response> ApiRoutes::route(http::Request& request) {
  http::Response text;
  text.set("Content-Type", "text/plain; charset=utf-8");
  if (request.method == "GET" && request.path == "/healthz") {
    text.body = "ok\n";
    co_return text;
  }
  if (request.method == "GET" && request.path == "/readyz") {
    auto asking = ready(request);
    co_return co_await std::move(asking);
  }
  if (request.method == "GET" && request.path == "/metrics") {
    text.body = metrics_.render();
    co_return text;
  }
  if (!authorized(request)) co_return problem(make_error(ErrorCode::kUnauthorized), request.request_id);
  if (request.method == "GET" && request.path == "/openapi.json") {
    http::Response document;
    document.set("Content-Type", "application/json");
    document.body = openapi_document();
    co_return document;
  }

  const auto path = segments_of(request.path);
  const std::string method(request.method);
  std::optional<Task<http::Response>> handling;
  bool known = false;
  if (path.size() >= 2 && path[0] == "v1" && path[1] == "jobs") {
    known = path.size() == 2 || path.size() == 3 || (path.size() == 4 && path[3] == "cancel");
    if (path.size() == 2 && method == "POST") handling = submit_job(request);
    if (path.size() == 2 && method == "GET") handling = list_jobs(request);
    if (path.size() == 3 && method == "GET") handling = show_job(request, path[2]);
    if (path.size() == 4 && known && method == "POST") handling = cancel_job(request, path[2]);
  } else if (path.size() >= 2 && path[0] == "v1" && path[1] == "poison") {
    known = path.size() == 2 || path.size() == 3 || (path.size() == 4 && path[3] == "redrive");
    if (path.size() == 2 && method == "GET") handling = list_poison(request);
    if (path.size() == 3 && method == "GET") handling = show_poison(request, path[2]);
    if (path.size() == 3 && method == "DELETE") handling = remove_poison(request, path[2]);
    if (path.size() == 4 && known && method == "POST") handling = redrive_poison(request, path[2]);
  }
  if (!handling) {
    const auto code = known ? ErrorCode::kUnsupportedHttpVerb : ErrorCode::kNotFound;
    co_return problem(make_error(code), request.request_id);
  }
  co_return co_await std::move(*handling);
}

Task<http::Response> ApiRoutes::submit_job(http::Request& request) {
  auto reading = request.body->read_all(kMaxBodyBytes);
  const auto body = co_await std::move(reading);
  if (!body) co_return problem(body.error(), request.request_id);
  auto spec = jobs::parse_job_spec(*body);
  if (!spec) co_return problem(spec.error(), request.request_id);
  auto submitting = jobs_.submit(std::move(*spec));
  const auto submission = co_await std::move(submitting);
  if (!submission) co_return problem(submission.error(), request.request_id);
  auto response = json_response(submission->created ? 202 : 200, to_json(submission->job));
  response.set("Location", "/v1/jobs/" + submission->job.id);
  co_return response;
}

Task<http::Response> ApiRoutes::list_jobs(http::Request& request) {
  auto page = read_page(request);
  if (!page) co_return problem(page.error(), request.request_id);
  auto listing = jobs_.list(page->limit, std::move(page->continuation));
  const auto found = co_await std::move(listing);
  if (!found) co_return problem(found.error(), request.request_id);
  co_return page_response("jobs", found->jobs, found->continuation);
}

Task<http::Response> ApiRoutes::show_job(http::Request& request, std::string id) {
  auto finding = jobs_.find(std::move(id));
  const auto job = co_await std::move(finding);
  if (!job) co_return problem(job.error(), request.request_id);
  if (!*job) co_return problem(make_error(ErrorCode::kJobNotFound), request.request_id);
  co_return json_response(200, to_json(**job));
}

Task<http::Response> ApiRoutes::cancel_job(http::Request& request, std::string id) {
  auto cancelling = jobs_.cancel(std::move(id));
  const auto job = co_await std::move(cancelling);
  if (!job) co_return problem(job.error(), request.request_id);
  co_return json_response(200, to_json(*job));
}

Task<http::Response> ApiRoutes::list_poison(http::Request& request) {
  auto page = read_page(request);
  if (!page) co_return problem(page.error(), request.request_id);
  auto listing = poison_.list(page->limit, std::move(page->continuation));
  const auto found = co_await std::move(listing);
  if (!found) co_return problem(found.error(), request.request_id);
  co_return page_response("poison", found->records, found->continuation);
}

Task<http::Response> ApiRoutes::show_poison(http::Request& request, std::string id) {
  auto finding = poison_.find(std::move(id));
  const auto record = co_await std::move(finding);
  if (!record) co_return problem(record.error(), request.request_id);
  co_return json_response(200, to_json(*record));
}

Task<http::Response> ApiRoutes::redrive_poison(http::Request& request, std::string id) {
  auto reading = request.body->read_all(kMaxBodyBytes);
  const auto body = co_await std::move(reading);
  if (!body) co_return problem(body.error(), request.request_id);
  std::optional<jobs::JobSpec> edited;
  if (!body->empty()) {
    auto spec = jobs::parse_job_spec(*body);
    if (!spec) co_return problem(spec.error(), request.request_id);
    edited = std::move(*spec);
  }
  auto redriving = poison_.redrive(std::move(id), std::move(edited));
  const auto record = co_await std::move(redriving);
  if (!record) co_return problem(record.error(), request.request_id);
  co_return json_response(202, to_json(*record));
}

Task<http::Response> ApiRoutes::remove_poison(http::Request& request, std::string id) {
  auto removing = poison_.remove(std::move(id));
  const auto removed = co_await std::move(removing);
  if (!removed) co_return problem(removed.error(), request.request_id);
  http::Response response;
  response.status = 204;
  co_return response;
}

Task<http::Response> ApiRoutes::ready(http::Request& request) {
  std::string table(jobs::kJobTable);
  auto asking = tables_.table_exists(std::move(table));
  const auto exists = co_await std::move(asking);
  if (!exists) co_return problem(exists.error(), request.request_id);
  http::Response response;
  response.set("Content-Type", "text/plain; charset=utf-8");
  response.body = "ok\n";
  co_return response;
}

}  // namespace tidemark::api
