#include "api/rest/api_routes.h"
#include "api/rest/parameters.h"
#include "api/rest/queue_poison.h"
#include "api/rest/render.h"
#include "common/base/side_by_side.h"

namespace tidemark::api {
namespace {

Answer list_poison(Api& api, http::Request& request, std::string) {
  auto parameters = CO_TRY(Parameters::read(
      request, {"limit", "continuation", "kind", "fingerprint", "movedAfter", "movedBefore", "queue"}));
  const auto limit = CO_TRY(parameters.limit());
  if (const auto queue = CO_TRY(QueuePoison::of(api, parameters))) {
    co_return co_await queue->list(limit, parameters.text("continuation"));
  }
  auto filter = CO_TRY(parameters.poison_filter());
  const auto found = CO_TRY(co_await api.poison.list(limit, parameters.text("continuation"), std::move(filter)));
  co_return page_response("poison", found.records, found.continuation);
}

Answer group_poison(Api& api, http::Request& request, std::string) {
  auto parameters = CO_TRY(Parameters::read(request, {"kind", "fingerprint", "movedAfter", "movedBefore"}));
  auto filter = CO_TRY(parameters.poison_filter());
  const auto sum = CO_TRY(co_await api.poison_summary->read(std::move(filter)));
  co_return json_response(200, {{"groups", list_json(sum.groups)},
                                {"complete", sum.complete},
                                {"counted", sum.counted},
                                {"asOf", to_iso8601(sum.as_of)}});
}

Answer poisoned_queues(Api& api, http::Request& request, std::string) { return list_poisoned_queues(api, request); }

/// The queue that the request names, if it is not one of the jobs.
Result<std::optional<QueuePoison>> queue_of(Api& api, const http::Request& request) {
  return QueuePoison::of(api, TRY(Parameters::read(request, {"queue"})));
}

Answer show_poison(Api& api, http::Request& request, std::string id) {
  if (const auto queue = CO_TRY(queue_of(api, request))) co_return co_await queue->show(std::move(id));
  const auto record = CO_TRY(co_await api.poison.find(std::move(id)));
  co_return json_response(200, to_json(record));
}

/// For the history of the message.
std::string who(const http::Request& request, const Action& action) {
  return action.caller.name + " (" + request.remote_address + ")";
}

Answer edit_poison(Api& api, http::Request& request, Action& action, std::string id) {
  auto body = co_await request.body->read_all(kMaxBodyBytes);
  if (const auto queue = CO_TRY(queue_of(api, request))) {
    co_return co_await queue->edit(std::move(id), CO_TRY(std::move(body)));
  }
  auto spec = CO_TRY(api.admitted(body, action.caller));
  const auto record = CO_TRY(co_await api.poison.edit(std::move(id), std::move(spec), who(request, action)));
  co_return json_response(200, to_json(record));
}

Answer plan_poison(Api& api, http::Request&, std::string id) {
  const auto record = CO_TRY(co_await api.poison.find(std::move(id)));
  auto message = CO_TRY(jobs::parse_job_message(record.body));
  co_return co_await api.plan(std::move(message.spec));
}

Answer redrive_poison(Api& api, http::Request& request, Action& action, std::string id) {
  auto body = CO_TRY(co_await request.body->read_all(kMaxBodyBytes));
  if (const auto queue = CO_TRY(queue_of(api, request))) {
    co_return co_await queue->redrive(std::move(id), std::move(body));
  }
  std::optional<jobs::JobSpec> edited;
  if (!body.empty()) edited = CO_TRY(api.admitted(body, action.caller));
  const auto record = CO_TRY(co_await api.poison.redrive(std::move(id), std::move(edited), who(request, action)));
  co_return json_response(202, to_json(record));
}

Answer remove_poison(Api& api, http::Request& request, std::string id) {
  if (const auto queue = CO_TRY(queue_of(api, request))) co_return co_await queue->remove(std::move(id));
  CO_TRY(co_await api.poison.remove(std::move(id)));
  co_return no_content();
}

constexpr std::int64_t kMostRemoved = 10'000;

using Ids = std::pair<std::vector<std::string>, bool>;  // and whether these are all that match

Task<Result<Ids>> ids_that_match(Api& api, jobs::PoisonFilter filter, std::size_t most) {
  Ids out;
  auto& [ids, all] = out;
  std::string continuation;
  do {
    const auto room = static_cast<std::uint32_t>(std::min<std::size_t>(most - ids.size(), 1000));
    auto page = CO_TRY(co_await api.poison.list(room, std::move(continuation), filter));
    for (auto& record : page.records) ids.push_back(std::move(record.message_id));
    continuation = std::move(page.continuation);
  } while (!continuation.empty() && ids.size() < most);
  all = continuation.empty();
  co_return out;
}

/// Ends early if nobody waits for the answer any more. Gives how many are gone; what was gone before does not count.
Task<Result<void>> remove_each(Api& api, const http::Request& request, const std::optional<QueuePoison>& queue,
                               const std::vector<std::string>& ids, std::int64_t& removed) {
  Step step = [&](std::size_t number) -> Task<Result<void>> {
    if (api.stopping->load() || (request.peer_gone && request.peer_gone())) co_return fail(ErrorCode::kUnavailable);
    auto done = queue ? co_await queue->forget(ids[number]) : co_await api.poison.remove(ids[number]);
    if (done) ++removed;
    if (done.failed_with(ErrorCode::kPoisonNotFound)) co_return Result<void>();
    co_return done;
  };
  co_return co_await side_by_side(api.clock, ids.size(), std::move(step));
}

Answer remove_many(Api& api, http::Request& request, Action& action, std::string) {
  auto parameters = CO_TRY(
      Parameters::read(request, {"kind", "fingerprint", "movedAfter", "movedBefore", "queue", "limit", "dryRun"}));
  const auto most =
      static_cast<std::size_t>(CO_TRY(parameters.number("limit", 1, kMostRemoved)).value_or(kMostRemoved));
  const bool dry = CO_TRY(parameters.flag("dryRun"));
  const auto queue = CO_TRY(QueuePoison::of(api, parameters));
  action.target = queue ? parameters.text("queue") : std::string(jobs::kPoisonQueue);
  for (const auto* name : {"kind", "fingerprint", "movedAfter", "movedBefore"}) {
    if (parameters.has(name)) action.detail += std::string(name) + " " + parameters.text(name) + " ";
  }
  auto filter = CO_TRY(parameters.poison_filter());
  const auto [ids, all] = CO_TRY(queue ? co_await queue->ids(most) : co_await ids_that_match(api, filter, most));
  nlohmann::json body{{"matched", ids.size()}, {"complete", all}};
  if (!dry) {
    std::int64_t removed = 0;
    const auto done = co_await remove_each(api, request, queue, ids, removed);
    action.count = removed;
    CO_TRY(done);
    body["deleted"] = removed;
  }
  co_return json_response(200, body);
}

}  // namespace

std::span<const Route> poison_routes() {
  static constexpr Route kRoutes[] = {
      {"GET", "v1/poison", Role::kViewer, list_poison},
      {"DELETE", "v1/poison", Role::kOperator, remove_many, Entrance::kToken, Trail::kEntryUnlessDry},
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
