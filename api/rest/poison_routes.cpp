#include "api/rest/api_routes.h"
#include "api/rest/parameters.h"
#include "api/rest/render.h"

namespace tidemark::api {

Task<Result<http::Response>> ApiRoutes::list_poison(http::Request& request, std::string) {
  auto parameters =
      CO_TRY(Parameters::read(request, {"limit", "continuation", "kind", "fingerprint", "movedAfter", "movedBefore"}));
  const auto limit = CO_TRY(parameters.limit());
  auto filter = CO_TRY(parameters.poison_filter());
  const auto found = CO_TRY(co_await poison_.list(limit, parameters.text("continuation"), std::move(filter)));
  co_return page_response("poison", found.records, found.continuation);
}

Task<Result<http::Response>> ApiRoutes::group_poison(http::Request& request, std::string) {
  auto parameters = CO_TRY(Parameters::read(request, {"kind", "fingerprint", "movedAfter", "movedBefore"}));
  auto filter = CO_TRY(parameters.poison_filter());
  const auto found = CO_TRY(co_await poison_.groups(std::move(filter)));
  co_return json_response(200, {{"groups", list_json(found.groups)}, {"complete", found.complete}});
}

Task<Result<http::Response>> ApiRoutes::show_poison(http::Request&, std::string id) {
  const auto record = CO_TRY(co_await poison_.find(std::move(id)));
  co_return json_response(200, to_json(record));
}

Task<Result<http::Response>> ApiRoutes::edit_poison(http::Request& request, std::string id) {
  auto spec = CO_TRY(admitted(co_await request.body->read_all(kMaxBodyBytes)));
  const auto record = CO_TRY(co_await poison_.edit(std::move(id), std::move(spec), request.remote_address));
  co_return json_response(200, to_json(record));
}

Task<Result<http::Response>> ApiRoutes::plan_poison(http::Request&, std::string id) {
  const auto record = CO_TRY(co_await poison_.find(std::move(id)));
  auto message = CO_TRY(jobs::parse_job_message(record.body));
  co_return co_await plan(std::move(message.spec));
}

Task<Result<http::Response>> ApiRoutes::redrive_poison(http::Request& request, std::string id) {
  const auto body = CO_TRY(co_await request.body->read_all(kMaxBodyBytes));
  std::optional<jobs::JobSpec> edited;
  if (!body.empty()) edited = CO_TRY(admitted(body));
  const auto record = CO_TRY(co_await poison_.redrive(std::move(id), std::move(edited), request.remote_address));
  co_return json_response(202, to_json(record));
}

Task<Result<http::Response>> ApiRoutes::remove_poison(http::Request&, std::string id) {
  CO_TRY(co_await poison_.remove(std::move(id)));
  co_return no_content();
}

}  // namespace tidemark::api
