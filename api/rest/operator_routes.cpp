// Views for operators: queues, workers, the holdings of accounts, the story of an entity, health, metrics and the
// description of the api.
#include <map>

#include "api/explain/explain.h"
#include "api/rest/api_routes.h"
#include "api/rest/disks.h"
#include "api/rest/job_queues.h"
#include "api/rest/parameters.h"
#include "api/rest/render.h"
#include "api/rest/request_body.h"
#include "api/rest/resource_names.h"
#include "common/base/encoding.h"
#include "common/rpc/call.h"
#include "common/service/quotas.h"
#include "jobs/spec/spec_members.h"
#include "queue_service/model/queue_parts.h"

namespace tidemark::api {
namespace {

http::Response text_response(std::string body) {
  http::Response response;
  response.set("Content-Type", "text/plain; charset=utf-8");
  response.body = std::move(body);
  return response;
}

Answer list_queues(Api& api, http::Request& request, std::string) {
  auto parameters = CO_TRY(Parameters::read(request));
  const auto limit = CO_TRY(parameters.limit());
  const auto found = CO_TRY(co_await api.queues.all_figures(limit, parameters.text("continuation")));
  co_return page_response("queues", found.queues, found.continuation);
}

Answer show_queue(Api& api, http::Request&, std::string name) {
  CO_TRY(check_queue_name(name));
  const auto figures = CO_TRY(co_await api.queues.figures(name));
  co_return json_response(200, to_json(std::pair(std::move(name), figures)));
}

template <bool paused>
Answer set_queue(Api& api, http::Request& request, std::string name) {
  CO_TRY(check_queue_name(name));
  CO_TRY(co_await api.queues.set_paused(name, paused));
  co_return co_await show_queue(api, request, std::move(name));
}

Answer spread_queue(Api& api, http::Request& request, std::string name) {
  CO_TRY(check_queue_name(name));
  const auto body = CO_TRY(co_await read_json_object(request));
  jobs::SpecMembers in(body);
  std::optional<std::uint32_t> parts;
  in.number("parts", parts, 2, queue_service::kMaxParts);
  if (!parts) in.problem("parts is needed");
  CO_TRY(refuse_problems(in));
  CO_TRY(co_await api.queues.set_parts(name, *parts));
  co_return co_await show_queue(api, request, std::move(name));
}

Answer explain(Api& api, http::Request& request, std::string) {
  auto parameters = CO_TRY(Parameters::read(request));
  auto table = parameters.text("table");
  jobs::EntityKey key{parameters.text("partitionKey"), parameters.text("rowKey")};
  const bool whole = parameters.has("table") && parameters.has("partitionKey") && parameters.has("rowKey");
  if (!whole || !jobs::is_table_name(table) || !is_valid_utf8(key.partition_key) || !is_valid_utf8(key.row_key)) {
    co_return fail(ErrorCode::kInvalidQueryParameterValue,
                   "table must be a table name, partitionKey and rowKey the keys of an entity; all "
                   "three are needed.");
  }
  auto queues = CO_TRY(co_await job_queues(api.queues));
  const auto explanation =
      CO_TRY(co_await jobs::explain({api.jobs, api.poison, api.schedules, api.queues, api.tables, std::move(queues)},
                                    api.objects, api.clock, std::move(table), std::move(key)));
  co_return json_response(200, to_json(explanation));
}

Answer list_workers(Api& api, http::Request& request, std::string) {
  auto parameters = CO_TRY(Parameters::read(request));
  const auto limit = CO_TRY(parameters.limit());
  const auto page = CO_TRY(co_await api.workers.list(limit, parameters.text("continuation")));
  co_return page_response("workers", page.workers, page.continuation, [&api](const jobs::WorkerInfo& worker) {
    return to_json(worker, api.clock.now() - worker.heartbeat_at < jobs::kHeartbeatLost);
  });
}

nlohmann::json sample_json(const RecentSample& sample) {
  return {{"at", to_iso8601(sample.at)},
          {"ready", sample.ready},
          {"inFlight", sample.in_flight},
          {"poison", sample.poison},
          {"inPerSecond", sample.in_rate},
          {"outPerSecond", sample.out_rate},
          {"oldestSeconds", seconds(sample.oldest)},
          {"requests", sample.requests},
          {"refused", sample.refused},
          {"meanMs", seconds(sample.mean) * 1000}};
}

/// One of the two holdings that an account has in a store: its units, or its bytes.
struct Holding {
  std::string store, account, of;
  std::optional<std::uint64_t> used;
  std::uint64_t most = 0;  // 0: without a limit
  [[nodiscard]] bool near() const { return used && service::is_near(*used, most); }
};

nlohmann::json holding_json(const Holding& holding) {
  nlohmann::json out{{"account", holding.account}, {"store", holding.store}, {"of", holding.of}};
  if (holding.used) out["used"] = *holding.used;
  if (holding.most > 0) out["most"] = holding.most;
  return out;
}

nlohmann::json warning_json(const Holding& holding) {
  auto out = holding_json(holding);
  const bool full = *holding.used >= holding.most;
  out["full"] = full;
  out["message"] = "Account " + holding.account + " has " + std::to_string(*holding.used) + " of " +
                   std::to_string(holding.most) + " " + holding.of + " in the " + holding.store + " store" +
                   (full ? ", so what adds to them is refused" : "");
  return out;
}

using Troubles = std::map<std::string, Error>;

/// Returns the holdings in all stores that answer in time; puts the errors of the others into `troubles`, by store
/// name.
Task<std::vector<Holding>> holdings(Api& api, Duration patience, Troubles& troubles) {
  std::vector<Holding> out;
  for (const auto& store : api.backups->stores()) {
    const auto accounts = co_await rpc::call(*store.link, service::ReadAccountUse{}, patience);
    if (!accounts) {
      troubles.emplace(store.name, accounts.error());
      continue;
    }
    for (const auto& use : *accounts) {
      out.push_back({store.name, use.account, use.unit + "s", use.units, use.most_units});
      out.push_back({store.name, use.account, "bytes", use.bytes, use.most_bytes});
    }
  }
  co_return out;
}

Answer list_accounts(Api& api, http::Request&, std::string) {
  Troubles troubles;
  const auto found = co_await holdings(api, std::chrono::seconds(2), troubles);
  if (!troubles.empty()) co_return fail(std::move(troubles.begin()->second));
  co_return json_response(200, {{"accounts", list_json(found, holding_json)}});
}

/// Returns their present figures; stops at the first error of the queue service and returns those read so far.
Task<nlohmann::json> queues_of_jobs(Api& api) {
  auto out = nlohmann::json::array();
  auto names = co_await job_queues(api.queues);
  if (!names) co_return out;
  names->emplace_back(jobs::kPoisonQueue);
  for (auto& name : *names) {
    const auto figures = co_await api.queues.figures(name);
    if (!figures && !figures.failed_with(ErrorCode::kQueueNotFound)) co_return out;
    if (figures) out.push_back(to_json(std::pair(std::move(name), *figures)));
  }
  co_return out;
}

nlohmann::json remarkable_json(const Remarkable& seen) {
  const auto reader_json = [](const FeedLag& lag) {
    nlohmann::json out{
        {"table", lag.table},     {"name", lag.name},           {"what", lag.of_group ? "consumerGroup" : "onChange"},
        {"stopped", lag.stopped}, {"feedEnded", lag.ended},     {"lostChanges", lag.gone},
        {"changes", lag.changes}, {"seconds", seconds(lag.age)}};
    if (!lag.error.empty()) out["error"] = lag.error;
    return out;
  };
  return {{"queues", list_json(seen.queues)},
          {"counted", seen.counted},
          {"untold", seen.untold},
          {"readers", list_json(seen.readers, reader_json)},
          {"asOf", to_iso8601(seen.as_of)}};
}

Answer overview(Api& api, http::Request&, std::string) {
  Troubles troubles;
  constexpr Duration kOverviewPatience = std::chrono::milliseconds(500);
  const auto disks = co_await read_disks(api, kOverviewPatience);
  auto near = co_await holdings(api, kOverviewPatience, troubles);
  std::erase_if(near, [](const Holding& holding) { return !holding.near(); });
  auto silent = nlohmann::json::array();
  for (const auto& [store, trouble] : troubles) silent.push_back(store);
  nlohmann::json out{{"queuesOfJobs", co_await queues_of_jobs(api)},
                     {"stepSeconds", RecentFigures::kStep / std::chrono::seconds(1)},
                     {"points", list_json(api.recent->samples(), sample_json)},
                     {"disks", list_json(disks)},
                     {"notAnswering", std::move(silent)},
                     {"warnings", list_json(near, warning_json)}};
  if (api.stores != nullptr) {
    const auto serving = co_await api.stores->answer();
    if (!serving) out["notServing"] = serving.error().message;
  }
  if (const auto seen = co_await api.lookout->read(api)) out["remarkable"] = remarkable_json(*seen);
  co_return json_response(200, out);
}

Answer healthy(Api&, http::Request&, std::string) { co_return text_response("ok\n"); }

Answer ready(Api& api, http::Request&, std::string) {
  if (api.stores != nullptr) CO_TRY(co_await api.stores->answer());
  std::string table(jobs::kJobTable);
  const auto there = CO_TRY(co_await api.tables.table_exists(std::move(table)));
  if (!there) CO_TRY(co_await api.jobs.ensure_ready());
  co_return text_response("ok\n");
}

Answer metrics(Api& api, http::Request&, std::string) {
  co_return text_response(api.metrics.render() + co_await api.stored_figures->read(api));
}

Answer openapi(Api&, http::Request&, std::string) {
  http::Response document;
  document.set("Content-Type", "application/json");
  document.body = openapi_document();
  co_return document;
}

}  // namespace

std::span<const Route> operator_routes() {
  static constexpr Route kRoutes[] = {
      {"GET", "v1/overview", Role::kViewer, overview},
      {"GET", "v1/queues", Role::kViewer, list_queues},
      {"GET", "v1/queues/*", Role::kViewer, show_queue},
      {"POST", "v1/queues/*/pause", Role::kOperator, set_queue<true>},
      {"POST", "v1/queues/*/resume", Role::kOperator, set_queue<false>},
      {"POST", "v1/queues/*/spread", Role::kOperator, spread_queue},
      {"GET", "v1/explain", Role::kViewer, explain},
      {"GET", "v1/workers", Role::kViewer, list_workers},
      {"GET", "v1/accounts", Role::kViewer, list_accounts},
      {"GET", "openapi.json", Role::kNone, openapi, Entrance::kOpen},
      {"GET", "healthz", Role::kNone, healthy, Entrance::kOpen},
      {"GET", "readyz", Role::kNone, ready, Entrance::kOpen},
      {"GET", "metrics", Role::kViewer, metrics, Entrance::kMetrics},
  };
  return kRoutes;
}

}  // namespace tidemark::api
