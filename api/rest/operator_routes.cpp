// Views for operators: queues, workers, the holdings of accounts, the story of an entity, health, metrics and the
// description of the api.
#include <algorithm>
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
  const auto prefix = parameters.text("prefix");
  // The names come in order, so those with the prefix begin at it.
  auto found = CO_TRY(co_await api.queues.all_figures(limit, std::max(parameters.text("continuation"), prefix)));
  std::erase_if(found.queues, [&](const auto& queue) { return !queue.first.starts_with(prefix); });
  if (!found.continuation.starts_with(prefix)) found.continuation.clear();
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

struct QueueParts {
  std::uint32_t parts = 0;
  static constexpr const char* kSchema = "QueueParts";
  void members(jobs::SpecMembers& in) {
    in.number("parts", parts, 2, queue_service::kMaxParts, {.meaning = "at most the number of the store's shards"},
              true);
  }
};

Answer spread_queue(Api& api, http::Request& request, std::string name) {
  CO_TRY(check_queue_name(name));
  const auto parts = CO_TRY(co_await read_members<QueueParts>(request)).parts;
  CO_TRY(co_await api.queues.set_parts(name, parts));
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

constexpr std::array<std::string_view, 3> kStoreNames{"table", "queue", "blob"};

struct ShownPoint {
  RecentSample sample;
  static constexpr const char* kSchema = "RecentPoint";
  void members(jobs::SpecMembers& to) const {
    to.shows("at", sample.at);
    to.shows("ready", sample.ready);
    to.shows("inFlight", sample.in_flight);
    to.shows("poison", sample.poison);
    to.shows("inPerSecond", sample.in_rate);
    to.shows("outPerSecond", sample.out_rate);
    to.shows("oldestSeconds", sample.oldest);
    to.shows("requests", sample.requests, {.meaning = "requests that the api has answered since the point before"});
    to.shows("refused", sample.refused, {.meaning = "those refused for a missing right, a limit, or lack of room"});
    to.shows("meanMs", seconds(sample.mean) * 1000, {.meaning = "time to answer one"});
  }
};

/// One of the two holdings that an account has in a store: its units, or its bytes.
struct Holding {
  std::string store, account, of;
  std::optional<std::uint64_t> used;
  std::uint64_t most = 0;  // 0: without a limit
  [[nodiscard]] bool near() const { return used && service::is_near(*used, most); }
  static constexpr const char* kSchema = "Holding";
  void members(jobs::SpecMembers& to) const {
    static constexpr std::array<std::string_view, 4> kUnits{"tables", "queues", "containers", "bytes"};
    to.shows("account", account);
    to.shows("store", store, {.one_of = kStoreNames});
    to.shows("of", of, {.one_of = kUnits});
    to.shows("used", used, {.meaning = "absent if it is not known"});
    to.shows("most", most > 0 ? std::optional(most) : std::nullopt, {.meaning = "absent if there is no limit"});
  }
};

struct HoldingWarning {
  Holding holding;
  static constexpr const char* kSchema = "HoldingWarning";
  void members(jobs::SpecMembers& to) const {
    const auto used = holding.used.value_or(0);
    const bool full = used >= holding.most;
    holding.members(to);
    to.shows("full", full, {.meaning = "writes that add to it are refused"});
    to.shows("message", "Account " + holding.account + " has " + std::to_string(used) + " of " +
                            std::to_string(holding.most) + " " + holding.of + " in the " + holding.store + " store" +
                            (full ? ", so what adds to them is refused" : ""));
  }
};

using Troubles = std::map<std::string, Error>;

/// Returns the holdings in all stores that answer in time; puts the errors of the others into `troubles`, by store
/// name. A store that is known to be away is not asked.
Task<std::vector<Holding>> holdings(Api& api, Duration patience, Troubles& troubles) {
  std::vector<Holding> out;
  for (const auto& store : api.backups->stores()) {
    if (!api.watch->answers(store.name)) {
      troubles.emplace(store.name,
                       make_error(ErrorCode::kUnavailable, "The " + store.name + " store does not answer."));
      continue;
    }
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
  co_return json_response(200, {{"accounts", jobs::shown(found)}});
}

/// Returns their present figures; stops at the first error of the queue service and returns those read so far.
Task<nlohmann::json> queues_of_jobs(Api& api) {
  auto out = nlohmann::json::array();
  if (!api.watch->answers("queue")) co_return out;
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

struct ShownReader {
  FeedLag lag;
  void members(jobs::SpecMembers& to) const {
    static constexpr std::array<std::string_view, 2> kForms{"consumerGroup", "onChange"};
    to.shows("table", lag.table,
             {.meaning = "in lower case, if only a consumer group of a feed that has ended names it"});
    to.shows("name", lag.name);
    to.shows("what", std::string(kForms[lag.of_group ? 0 : 1]), {.one_of = kForms});
    to.shows("stopped", lag.stopped);
    to.shows_unless_empty("error", lag.error, {.meaning = "why it stopped"});
    to.shows("feedEnded", lag.ended, {.meaning = "the table has no change feed any more"});
    to.shows("lostChanges", lag.gone, {.meaning = "some changes that it has not seen are no longer kept"});
    to.shows("changes", lag.changes);
    to.shows("seconds", lag.age, {.meaning = "age of the oldest of them"});
  }
};

struct ShownRemarkable {
  std::shared_ptr<const Remarkable> seen = std::make_shared<Remarkable>();
  static constexpr const char* kSchema = "Remarkable";
  void members(jobs::SpecMembers& to) const {
    to.shows_json("queues", {{"type", "array"}, {"items", jobs::reference("Queue")}}, list_json(seen->queues),
                  {.meaning = "queues with poison, paused ones, and those whose next message has waited for over a "
                              "minute; the worst first"},
                  true);
    to.shows("counted", seen->counted, {.meaning = "queues that were looked at"});
    to.shows("untold", seen->untold, {.meaning = "queues for which there was no room here"});
    to.shows("readers", shown_all<ShownReader>(seen->readers),
             {.meaning = "readers of changes that have stopped, have lost changes, or are over a minute behind"});
    to.shows("asOf", seen->as_of, {.meaning = "when the look began; with very many queues it may be a minute ago"});
  }
};

constexpr std::array<std::string_view, 3> kProcessNames{"table_store", "queue_service", "blob_store"};

struct ShownStoreState {
  StoreState state;
  void members(jobs::SpecMembers& to) const {
    const auto place = static_cast<std::size_t>(std::ranges::find(kStoreNames, state.store) - kStoreNames.begin());
    const auto process = place < kProcessNames.size() ? kProcessNames[place] : std::string_view();
    to.shows("store", state.store, {.one_of = kStoreNames});
    to.shows("process", std::string(process), {.meaning = "the program, as `tidemark status` names it"});
    to.shows("answers", state.answers);
    to.shows("since", state.since, {.meaning = "since when it does so, as this api has seen it"});
    to.shows("answeredAt", state.answered_at, {.meaning = "the last answer"});
    to.shows_unless_empty("problem", state.problem, {.meaning = "why it does not answer"});
  }
};

struct Health {
  std::vector<StoreState> stores;
  Time now{};
  static constexpr const char* kSchema = "Health";
  void members(jobs::SpecMembers& to) const {
    to.shows("stores", shown_all<ShownStoreState>(stores));
    to.shows("now", now, {.meaning = "the time of the api"});
  }
};

Answer show_health(Api& api, http::Request&, std::string) {
  co_return json_response(200, json_of(Health{api.watch->states(), api.clock.now()}));
}

struct ShownAbout {
  StackFacts facts;
  static constexpr const char* kSchema = "About";
  void members(jobs::SpecMembers& to) const {
    to.shows("version", facts.version);
    to.shows_unless_empty("logs", facts.logs,
                          {.meaning = "directory of the logs NAME.log; absent if the processes do not write there"});
    to.shows_unless_empty("traceUrl", facts.trace_url,
                          {.meaning = "address of a trace, with {traceId} in place of its id"});
  }
};

Answer show_about(Api& api, http::Request&, std::string) {
  co_return json_response(200, json_of(ShownAbout{api.facts}));
}

struct Overview {
  nlohmann::json queues_of_jobs = nlohmann::json::array();
  std::vector<RecentSample> points;
  std::vector<Disk> disks;
  std::vector<std::string> not_answering;
  std::vector<HoldingWarning> warnings;
  std::string not_serving;
  std::optional<ShownRemarkable> remarkable;
  static constexpr const char* kSchema = "Overview";
  void members(jobs::SpecMembers& to) const {
    to.shows_json("queuesOfJobs", {{"type", "array"}, {"items", jobs::reference("Queue")}}, queues_of_jobs, {}, true);
    to.shows("stepSeconds", RecentFigures::kStep / std::chrono::seconds(1));
    to.shows("points", shown_all<ShownPoint>(points), {.meaning = "the last hour, at most; the oldest first"});
    to.shows("disks", disks);
    to.shows("notAnswering", not_answering,
             {.meaning = "stores that did not answer; the figures of disks and accounts are without theirs"});
    to.shows("warnings", warnings, {.meaning = "accounts that have nearly as much as they may have"});
    to.shows_unless_empty("notServing", not_serving,
                          {.meaning = "the store that does not answer, without which the api does nothing"});
    to.shows("remarkable", remarkable, {.meaning = "what needs attention; absent until everything was looked at once"});
  }
};

Answer overview(Api& api, http::Request&, std::string) {
  Troubles troubles;
  constexpr Duration kOverviewPatience = std::chrono::milliseconds(500);
  Overview out;
  out.disks = co_await read_disks(api, kOverviewPatience);
  for (auto& holding : co_await holdings(api, kOverviewPatience, troubles)) {
    if (holding.near()) out.warnings.push_back({std::move(holding)});
  }
  for (const auto& [store, trouble] : troubles) out.not_answering.push_back(store);
  out.queues_of_jobs = co_await queues_of_jobs(api);
  out.points = api.recent->samples();
  if (api.stores != nullptr) {
    for (const auto& state : api.watch->states()) {
      if (!state.answers && state.store != "blob") out.not_serving = state.problem;
    }
    if (out.not_serving.empty()) {
      const auto serving = co_await api.stores->answer();
      if (!serving) out.not_serving = serving.error().message;
    }
  }
  if (auto seen = co_await api.lookout->read(api)) out.remarkable.emplace(std::move(seen));
  co_return json_response(200, json_of(std::move(out)));
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
      {"GET", "v1/health", Role::kViewer, show_health},
      {"GET", "v1/about", Role::kViewer, show_about},
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

nlohmann::ordered_json operator_schemas() {
  nlohmann::ordered_json out;
  jobs::add_requests<QueueParts>(out);
  jobs::add_answers<ShownPoint, Disk, Holding, HoldingWarning, ShownRemarkable, Overview, Health, ShownAbout>(out);
  return out;
}

}  // namespace tidemark::api
