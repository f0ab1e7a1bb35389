#include "api/rest/api_routes.h"
#include "api/rest/parameters.h"
#include "api/rest/render.h"

namespace tidemark::api {

Task<http::Response> ApiRoutes::list_poison(http::Request& request, std::string) {
  auto parameters =
      Parameters::read(request, {"limit", "continuation", "kind", "fingerprint", "movedAfter", "movedBefore"});
  if (!parameters) co_return problem(parameters.error(), request.request_id);
  const auto limit = parameters->limit();
  if (!limit) co_return problem(limit.error(), request.request_id);
  auto filter = parameters->poison_filter();
  if (!filter) co_return problem(filter.error(), request.request_id);
  const auto found = co_await poison_.list(*limit, parameters->text("continuation"), std::move(*filter));
  if (!found) co_return problem(found.error(), request.request_id);
  co_return page_response("poison", found->records, found->continuation);
}

Task<http::Response> ApiRoutes::group_poison(http::Request& request, std::string) {
  auto parameters = Parameters::read(request, {"kind", "fingerprint", "movedAfter", "movedBefore"});
  if (!parameters) co_return problem(parameters.error(), request.request_id);
  auto filter = parameters->poison_filter();
  if (!filter) co_return problem(filter.error(), request.request_id);
  const auto found = co_await poison_.groups(std::move(*filter));
  if (!found) co_return problem(found.error(), request.request_id);
  auto list = nlohmann::json::array();
  for (const auto& group : found->groups) list.push_back(to_json(group));
  co_return json_response(200, {{"groups", std::move(list)}, {"complete", found->complete}});
}

Task<http::Response> ApiRoutes::show_poison(http::Request& request, std::string id) {
  const auto record = co_await poison_.find(std::move(id));
  if (!record) co_return problem(record.error(), request.request_id);
  co_return json_response(200, to_json(*record));
}

Task<http::Response> ApiRoutes::edit_poison(http::Request& request, std::string id) {
  const auto body = co_await request.body->read_all(kMaxBodyBytes);
  if (!body) co_return problem(body.error(), request.request_id);
  auto spec = jobs::parse_job_spec(*body);
  if (!spec) co_return problem(spec.error(), request.request_id);
  if (auto admitted = admit(*spec); !admitted) co_return problem(admitted.error(), request.request_id);
  const auto record = co_await poison_.edit(std::move(id), std::move(*spec));
  if (!record) co_return problem(record.error(), request.request_id);
  co_return json_response(200, to_json(*record));
}

Task<http::Response> ApiRoutes::plan_poison(http::Request& request, std::string id) {
  const auto record = co_await poison_.find(std::move(id));
  if (!record) co_return problem(record.error(), request.request_id);
  auto message = jobs::parse_job_message(record->body);
  if (!message) co_return problem(message.error(), request.request_id);
  co_return co_await plan(request, std::move(message->spec));
}

Task<http::Response> ApiRoutes::redrive_poison(http::Request& request, std::string id) {
  const auto body = co_await request.body->read_all(kMaxBodyBytes);
  if (!body) co_return problem(body.error(), request.request_id);
  std::optional<jobs::JobSpec> edited;
  if (!body->empty()) {
    auto spec = jobs::parse_job_spec(*body);
    if (!spec) co_return problem(spec.error(), request.request_id);
    if (auto admitted = admit(*spec); !admitted) co_return problem(admitted.error(), request.request_id);
    edited = std::move(*spec);
  }
  const auto record = co_await poison_.redrive(std::move(id), std::move(edited));
  if (!record) co_return problem(record.error(), request.request_id);
  co_return json_response(202, to_json(*record));
}

Task<http::Response> ApiRoutes::remove_poison(http::Request& request, std::string id) {
  const auto removed = co_await poison_.remove(std::move(id));
  if (!removed) co_return problem(removed.error(), request.request_id);
  http::Response response;
  response.status = 204;
  co_return response;
}

}  // namespace tidemark::api
