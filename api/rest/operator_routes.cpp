#include "api/rest/api_routes.h"
#include "api/rest/parameters.h"
#include "api/rest/render.h"

namespace tidemark::api {
namespace {

http::Response text_response(std::string body) {
  http::Response response;
  response.set("Content-Type", "text/plain; charset=utf-8");
  response.body = std::move(body);
  return response;
}

}  // namespace

Task<http::Response> ApiRoutes::list_workers(http::Request& request, std::string) {
  auto parameters = Parameters::read(request, {"limit", "continuation"});
  if (!parameters) co_return problem(parameters.error(), request.request_id);
  const auto limit = parameters->limit();
  if (!limit) co_return problem(limit.error(), request.request_id);
  const auto page = co_await workers_.list(*limit, parameters->text("continuation"));
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
  const auto exists = co_await tables_.table_exists(std::move(table));
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
