#include "api/rest/api_routes.h"
#include "api/rest/parameters.h"
#include "api/rest/render.h"
#include "jobs/job_kinds.h"

namespace tidemark::api {
namespace {

http::Response text_response(std::string body) {
  http::Response response;
  response.set("Content-Type", "text/plain; charset=utf-8");
  response.body = std::move(body);
  return response;
}

struct KindChange {
  std::optional<bool> paused;
  std::optional<std::uint32_t> max_running;
};

Result<KindChange> read_change(const std::string& body) {
  const auto parsed = nlohmann::json::parse(body, nullptr, false);
  if (!parsed.is_object()) return fail(ErrorCode::kInvalidInput, "The body must be a JSON object.");
  KindChange change;
  for (const auto& [name, value] : parsed.items()) {
    if (name == "paused" && value.is_boolean()) {
      change.paused = value.get<bool>();
    } else if (name == "maxRunning" && value.is_number_unsigned() &&
               value.get<std::uint64_t>() <= jobs::kMaxRunningLimit) {
      change.max_running = value.get<std::uint32_t>();
    } else {
      return fail(ErrorCode::kInvalidInput, "paused (true or false) and maxRunning (0 to 1000) can be set.");
    }
  }
  return change;
}

}  // namespace

Task<http::Response> ApiRoutes::list_kinds(http::Request& request, std::string) {
  auto listing = kinds_.list();
  const auto set = co_await std::move(listing);
  if (!set) co_return problem(set.error(), request.request_id);
  auto list = nlohmann::json::array();
  for (const auto& kind : jobs::kinds()) {
    jobs::KindControl control;
    control.kind = std::string(kind.name);
    for (const auto& known : *set) {
      if (known.kind == kind.name) control = known;
    }
    list.push_back(to_json(control));
  }
  co_return json_response(200, {{"kinds", std::move(list)}});
}

Task<http::Response> ApiRoutes::set_kind(http::Request& request, std::string kind) {
  if (jobs::find_kind(kind) == nullptr) {
    co_return problem(make_error(ErrorCode::kNotFound, "There is no such kind of job."), request.request_id);
  }
  auto reading = request.body->read_all(kMaxBodyBytes);
  const auto body = co_await std::move(reading);
  if (!body) co_return problem(body.error(), request.request_id);
  auto change = read_change(*body);
  if (!change) co_return problem(change.error(), request.request_id);
  auto setting = kinds_.set(std::move(kind), change->paused, change->max_running);
  const auto control = co_await std::move(setting);
  if (!control) co_return problem(control.error(), request.request_id);
  co_return json_response(200, to_json(*control));
}

Task<http::Response> ApiRoutes::list_workers(http::Request& request, std::string) {
  auto parameters = Parameters::read(request, {"limit", "continuation"});
  if (!parameters) co_return problem(parameters.error(), request.request_id);
  const auto limit = parameters->limit();
  if (!limit) co_return problem(limit.error(), request.request_id);
  auto listing = workers_.list(*limit, parameters->text("continuation"));
  const auto page = co_await std::move(listing);
  if (!page) co_return problem(page.error(), request.request_id);
  nlohmann::json body{{"workers", nlohmann::json::array()}};
  for (const auto& worker : page->workers) {
    body["workers"].push_back(to_json(worker, clock_.now() - worker.heartbeat_at < jobs::kHeartbeatLost));
  }
  if (!page->continuation.empty()) body["continuation"] = page->continuation;
  co_return json_response(200, body);
}

Task<http::Response> ApiRoutes::healthy(http::Request&, std::string) { co_return text_response("ok\n"); }

Task<http::Response> ApiRoutes::ready(http::Request& request, std::string) {
  std::string table(jobs::kJobTable);
  auto asking = tables_.table_exists(std::move(table));
  const auto exists = co_await std::move(asking);
  if (!exists) co_return problem(exists.error(), request.request_id);
  co_return text_response("ok\n");
}

Task<http::Response> ApiRoutes::metrics(http::Request&, std::string) { co_return text_response(metrics_.render()); }

Task<http::Response> ApiRoutes::openapi(http::Request&, std::string) {
  http::Response document;
  document.set("Content-Type", "application/json");
  document.body = openapi_document();
  co_return document;
}

}  // namespace tidemark::api
