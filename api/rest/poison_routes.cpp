#include "api/rest/api_routes.h"
#include "api/rest/parameters.h"
#include "api/rest/queue_poison.h"
#include "api/rest/render.h"
#include "api/rest/request_body.h"

namespace tidemark::api {
namespace {

Answer list_poison(Api& api, http::Request& request, std::string) {
  auto parameters = CO_TRY(Parameters::read(request));
  const auto limit = CO_TRY(parameters.limit());
  if (const auto queue = CO_TRY(QueuePoison::of(api, parameters))) {
    co_return co_await queue->list(limit, parameters.text("continuation"));
  }
  auto filter = CO_TRY(parameters.poison_filter());
  const auto found = CO_TRY(co_await api.poison.list(limit, parameters.text("continuation"), std::move(filter)));
  co_return page_response("poison", found.records, found.continuation, kAsJson, found.searched);
}

Answer group_poison(Api& api, http::Request& request, std::string) {
  auto parameters = CO_TRY(Parameters::read(request));
  auto filter = CO_TRY(parameters.poison_filter());
  const auto sum = CO_TRY(co_await api.poison_summary->read(std::move(filter)));
  co_return json_response(200, {{"groups", list_json(sum.groups)},
                                {"complete", sum.complete},
                                {"counted", sum.counted},
                                {"asOf", to_iso8601(sum.as_of)}});
}

Answer poisoned_queues(Api& api, http::Request& request, std::string) { return list_poisoned_queues(api, request); }

/// Returns the queue that the request names, if it is not one of the jobs' queues.
Result<std::optional<QueuePoison>> queue_of(Api& api, const http::Request& request) {
  return QueuePoison::of(api, TRY(Parameters::read(request)));
}

/// Returns the ETag that the message must still have; empty for any.
std::string seen_by(const http::Request& request) {
  const auto tag = request.header("if-match").value_or("*");
  return tag == "*" ? std::string() : std::string(tag);
}

http::Response record_response(unsigned status, const jobs::PoisonRecord& record) {
  auto response = json_response(status, to_json(record));
  response.set("ETag", record.etag);
  return response;
}

Answer show_poison(Api& api, http::Request& request, std::string id) {
  if (const auto queue = CO_TRY(queue_of(api, request))) co_return co_await queue->show(std::move(id));
  co_return record_response(200, CO_TRY(co_await api.poison.find(std::move(id))));
}

/// Returns the actor, for the history of the message.
std::string who(const http::Request& request, const Action& action) {
  return action.caller.name + " (" + request.remote_address + ")";
}

Answer edit_poison(Api& api, http::Request& request, Action& action, std::string id) {
  auto body = co_await request.body->read_all(kMaxBodyBytes);
  if (const auto queue = CO_TRY(queue_of(api, request))) {
    co_return co_await queue->edit(std::move(id), CO_TRY(std::move(body)), seen_by(request));
  }
  auto spec = CO_TRY(co_await api.admitted(std::move(body), action.caller));
  co_return record_response(
      200, CO_TRY(co_await api.poison.edit(std::move(id), std::move(spec), who(request, action), seen_by(request))));
}

Answer plan_poison(Api& api, http::Request&, std::string id) {
  const auto record = CO_TRY(co_await api.poison.find(std::move(id)));
  auto message = CO_TRY(jobs::parse_job_message(record.body));
  co_return co_await api.plan(std::move(message.spec));
}

Answer redrive_poison(Api& api, http::Request& request, Action& action, std::string id) {
  auto body = CO_TRY(co_await request.body->read_all(kMaxBodyBytes));
  if (const auto queue = CO_TRY(queue_of(api, request))) {
    co_return co_await queue->redrive(std::move(id), std::move(body), seen_by(request));
  }
  const auto found = CO_TRY(co_await api.poison.find(std::move(id)));
  std::optional<jobs::JobSpec> edited;
  if (!body.empty()) {
    edited = CO_TRY(co_await api.admitted(std::move(body), action.caller));
  } else if (const auto message = jobs::parse_job_message(found.body)) {
    CO_TRY(Api::may_run(message->spec, action.caller));
  }
  const auto record = CO_TRY(co_await api.poison.redrive(found.message_id, std::move(edited), who(request, action),
                                                         found.epoch, seen_by(request)));
  co_return json_response(202, to_json(record));
}

Answer remove_poison(Api& api, http::Request& request, std::string id) {
  if (const auto queue = CO_TRY(queue_of(api, request))) co_return co_await queue->remove(std::move(id));
  CO_TRY(co_await api.poison.remove(std::move(id)));
  co_return no_content();
}

}  // namespace

std::span<const Route> poison_routes() {
  static constexpr Route kRoutes[] = {
      {"GET", "v1/poison", Role::kViewer, list_poison},
      {"GET", "v1/poison/queues", Role::kViewer, poisoned_queues},
      {"GET", "v1/poison/groups", Role::kViewer, group_poison},
      {"GET", "v1/poison/*", Role::kViewer, show_poison},
      {"PUT", "v1/poison/*", Role::kOperator, edit_poison},
      {"DELETE", "v1/poison/*", Role::kOperator, remove_poison},
      {"GET", "v1/poison/*/plan", Role::kViewer, plan_poison},
      {"POST", "v1/poison/*/redrive", Role::kOperator, redrive_poison},
  };
  return kRoutes;
}

}  // namespace tidemark::api
