#include "api/rest/api_routes.h"
#include "api/rest/parameters.h"
#include "api/rest/render.h"

namespace tidemark::api {

Task<http::Response> ApiRoutes::list_queues(http::Request& request, std::string) {
  auto parameters = Parameters::read(request, {"limit", "continuation"});
  if (!parameters) co_return problem(parameters.error(), request.request_id);
  const auto limit = parameters->limit();
  if (!limit) co_return problem(limit.error(), request.request_id);
  const auto found = co_await queues_.all_figures(*limit, parameters->text("continuation"));
  if (!found) co_return problem(found.error(), request.request_id);
  co_return page_response("queues", found->queues, found->continuation);
}

Task<http::Response> ApiRoutes::show_queue(http::Request& request, std::string name) {
  const auto figures = co_await queues_.figures(name);
  if (!figures) co_return problem(figures.error(), request.request_id);
  co_return json_response(200, to_json(std::pair(std::move(name), *figures)));
}

Task<http::Response> ApiRoutes::pause_queue(http::Request& request, std::string name) {
  co_return co_await set_queue(request, std::move(name), true);
}

Task<http::Response> ApiRoutes::resume_queue(http::Request& request, std::string name) {
  co_return co_await set_queue(request, std::move(name), false);
}

Task<http::Response> ApiRoutes::set_queue(http::Request& request, std::string name, bool paused) {
  const auto done = co_await queues_.set_paused(name, paused);
  if (!done) co_return problem(done.error(), request.request_id);
  co_return co_await show_queue(request, std::move(name));
}

}  // namespace tidemark::api
