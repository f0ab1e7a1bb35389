#include "api/rest/api_routes.h"
#include "api/rest/parameters.h"
#include "api/rest/render.h"

namespace tidemark::api {

Task<Result<http::Response>> ApiRoutes::list_queues(http::Request& request, std::string) {
  auto parameters = CO_TRY(Parameters::read(request, {"limit", "continuation"}));
  const auto limit = CO_TRY(parameters.limit());
  const auto found = CO_TRY(co_await queues_.all_figures(limit, parameters.text("continuation")));
  co_return page_response("queues", found.queues, found.continuation);
}

Task<Result<http::Response>> ApiRoutes::show_queue(http::Request&, std::string name) {
  const auto figures = CO_TRY(co_await queues_.figures(name));
  co_return json_response(200, to_json(std::pair(std::move(name), figures)));
}

Task<Result<http::Response>> ApiRoutes::pause_queue(http::Request& request, std::string name) {
  co_return co_await set_queue(request, std::move(name), true);
}

Task<Result<http::Response>> ApiRoutes::resume_queue(http::Request& request, std::string name) {
  co_return co_await set_queue(request, std::move(name), false);
}

Task<Result<http::Response>> ApiRoutes::set_queue(http::Request& request, std::string name, bool paused) {
  CO_TRY(co_await queues_.set_paused(name, paused));
  co_return co_await show_queue(request, std::move(name));
}

}  // namespace tidemark::api
