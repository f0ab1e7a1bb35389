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

Task<Result<http::Response>> ApiRoutes::list_workers(http::Request& request, std::string) {
  auto parameters = CO_TRY(Parameters::read(request, {"limit", "continuation"}));
  const auto limit = CO_TRY(parameters.limit());
  const auto page = CO_TRY(co_await workers_.list(limit, parameters.text("continuation")));
  co_return page_response("workers", page.workers, page.continuation, [this](const jobs::WorkerInfo& worker) {
    return to_json(worker, clock_.now() - worker.heartbeat_at < jobs::kHeartbeatLost);
  });
}

Task<Result<http::Response>> ApiRoutes::healthy(http::Request&, std::string) { co_return text_response("ok\n"); }

Task<Result<http::Response>> ApiRoutes::ready(http::Request&, std::string) {
  std::string table(jobs::kJobTable);
  CO_TRY(co_await tables_.table_exists(std::move(table)));
  co_return text_response("ok\n");
}

Task<Result<http::Response>> ApiRoutes::metrics(http::Request&, std::string) {
  co_return text_response(metrics_.render());
}

Task<Result<http::Response>> ApiRoutes::openapi(http::Request&, std::string) {
  http::Response document;
  document.set("Content-Type", "application/json");
  document.body = openapi_document();
  co_return document;
}

}  // namespace tidemark::api
