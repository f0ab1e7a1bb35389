// Shards of the stores: their processes and loads, a plan to relieve them, and the wish that a process should have one.
#include "api/rest/shard_routes.h"

#include "api/maintenance/split_plan.h"
#include "api/rest/parameters.h"
#include "api/rest/render.h"
#include "api/rest/request_body.h"
#include "common/base/json.h"
#include "common/base/numbers.h"
#include "common/base/side_by_side.h"
#include "common/rpc/call.h"

namespace tidemark::api {
namespace {

using nlohmann::json;
using service::StoreShards;

constexpr Duration kLoadPatience = std::chrono::seconds(4);
/// A wish takes this long at most, because it waits for the database.
constexpr Duration kWishPatience = std::chrono::seconds(8);
constexpr std::int64_t kMostCarried = 10'000'000;

json name_json(const service::HotName& name) {
  json out{{"account", name.account}, {"name", name.name}, {"writesPerSecond", name.writes_per_s}};
  if (!name.part.empty()) out["part"] = name.part;
  return out;
}

/// Explains why the load of a shard is unknown.
std::string unknown_because(const StoreShards& told, const std::string& process) {
  if (process.empty()) return "Nobody serves it at this moment.";
  for (const auto& each : told.processes) {
    if (each.name == process && !each.trouble.empty()) return "Its process does not tell: " + each.trouble;
  }
  return "It is being handed over.";
}

json shard_json(const std::string& store, const StoreShards& told, std::size_t number) {
  const auto& place = told.places[number];
  const auto* load = load_of(told, number);
  const auto& process = load != nullptr ? load->process : place.process;
  json out{{"store", store}, {"shard", number}, {"shared", told.shared}};
  if (!process.empty()) out["process"] = process;
  for (const auto& each : told.processes) {
    if (each.name == process && !each.address.empty()) out["address"] = each.address.substr(0, each.address.find(' '));
  }
  if (told.shared) out["epoch"] = std::max(place.epoch, load != nullptr ? load->epoch : 0);
  if (!place.wish.empty()) out["wish"] = place.wish;
  if (place.rows) out["rows"] = *place.rows;
  if (place.bytes) out["bytes"] = *place.bytes;
  if (load == nullptr) {
    out["unknown"] = unknown_because(told, process);
    return out;
  }
  if (load->writes_per_s) out["writesPerSecond"] = *load->writes_per_s;
  out["waiting"] = load->waiting;
  out["servedSeconds"] = seconds(load->served_for);
  if (load->lease_left) out["leaseSeconds"] = seconds(*load->lease_left);
  out["hottest"] = list_json(load->hottest, name_json);
  return out;
}

json process_json(const StoreShards& told, const service::StoreProcess& process) {
  json out{{"name", process.name}};
  double writes = 0;
  std::size_t serves = 0;
  for (std::size_t number = 0; number < told.places.size(); ++number) {
    const auto* load = load_of(told, number);
    if ((load != nullptr ? load->process : told.places[number].process) != process.name) continue;
    ++serves;
    writes += load != nullptr ? load->writes_per_s.value_or(0) : 0;
  }
  if (!process.address.empty()) out["address"] = process.address.substr(0, process.address.find(' '));
  out["shards"] = serves;
  if (process.trouble.empty()) out["writesPerSecond"] = writes;
  if (!process.trouble.empty()) out["trouble"] = process.trouble;
  return out;
}

json store_json(const std::string& name, const Result<StoreShards>& told) {
  json out{{"store", name}};
  if (!told) {
    out["trouble"] = told.error().message;
    return out;
  }
  out["shared"] = told->shared;
  out["processes"] = list_json(told->processes, [&](const auto& process) { return process_json(*told, process); });
  out["shards"] = json::array();
  for (std::size_t number = 0; number < told->places.size(); ++number) {
    out["shards"].push_back(shard_json(name, *told, number));
  }
  return out;
}

Task<Result<StoreShards>> read_shards(const StoreLink& store) {
  return rpc::call(*store.link, service::calls::ReadShards{}, kLoadPatience);
}

Result<const StoreLink*> find_store(const Api& api, const std::string& name) {
  for (const auto& store : api.backups->stores()) {
    if (store.name == name) return &store;
  }
  return fail(ErrorCode::kNotFound, "The stores are table, queue and blob.");
}

Answer list_shards(Api& api, http::Request&, std::string) {
  const auto& stores = api.backups->stores();
  std::vector<json> told(stores.size());
  Step step = [&](std::size_t number) -> Task<Result<void>> {
    told[number] = store_json(stores[number].name, co_await read_shards(stores[number]));
    co_return Result<void>{};
  };
  std::ignore = co_await side_by_side(api.clock, stores.size(), std::move(step));
  co_return json_response(200, {{"stores", told}});
}

json part_json(const SplitPlan::Part& part) {
  auto out = name_json(part.name);
  out["ofShard"] = part.of_shard;
  out["tooHot"] = part.too_hot;
  out["spreadOver"] = part.spread_over;
  return out;
}

json hot_shard_json(const SplitPlan::HotShard& hot) {
  json out{{"shard", hot.number},
           {"writesPerSecond", hot.writes_per_s},
           {"parts", list_json(hot.parts, part_json)},
           {"withoutParts", hot.without_parts}};
  if (!hot.process.empty()) out["process"] = hot.process;
  return out;
}

json change_json(const SplitPlan::Change& change) { return {{"before", change.before}, {"after", change.after}}; }

json plan_json(const std::string& store, const SplitPlan& plan) {
  return {{"store", store},
          {"carries", plan.carries},
          {"complete", plan.complete},
          {"hot", list_json(plan.hot, hot_shard_json)},
          {"moves", list_json(plan.moves,
                              [](const SplitPlan::Move& move) {
                                return json{{"shard", move.shard},
                                            {"from", move.from},
                                            {"to", move.to},
                                            {"writesPerSecond", move.writes_per_s}};
                              })},
          {"busiestProcess", change_json(plan.busiest_process)},
          {"hottestShard", change_json(plan.hottest_shard)},
          {"advice", plan.advice}};
}

Answer plan_shards(Api& api, http::Request& request, std::string name) {
  auto parameters = CO_TRY(Parameters::read(request));
  const auto carries = CO_TRY(parameters.number("carries", 1, kMostCarried));
  const auto* const store = CO_TRY(find_store(api, name));
  const auto told = CO_TRY(co_await read_shards(*store));
  std::vector<std::string> processes;
  if (told.shared) {
    for (const auto& process : told.processes) processes.push_back(process.name);
  }
  const auto plan =
      plan_split(name, planned_shards(told), processes, carries ? static_cast<double>(*carries) : kShardCarries);
  co_return json_response(200, plan_json(name, plan));
}

/// Reads {"process": "NAME"}, or null to withdraw the wish.
Result<std::string> read_process(const std::string& body) {
  const auto parsed = json_or_discarded(body);
  const bool right = parsed.is_object() && parsed.size() == 1 && parsed.contains("process");
  if (right && parsed["process"].is_null()) return std::string();
  if (right && parsed["process"].is_string() && !parsed["process"].get_ref<const std::string&>().empty()) {
    return parsed["process"].get<std::string>();
  }
  return fail(ErrorCode::kInvalidInput, "A move has process: the name of one, or null to take the wish back.");
}

Answer move_shard(Api& api, http::Request& request, Action& action, std::string target) {
  const auto body = CO_TRY(co_await request.body->read_all(kMaxBodyBytes));
  auto process = CO_TRY(read_process(body));
  action.detail = body;
  const auto slash = target.rfind('/');
  const auto number = parse_number<std::uint64_t>(target.substr(slash + 1));
  if (!number) co_return fail(ErrorCode::kInvalidInput, "A shard is named by its number.");
  const auto* const store = CO_TRY(find_store(api, target.substr(0, slash)));
  CO_TRY(co_await rpc::call(*store->link, service::calls::WishShard{"", *number, std::move(process)}, kWishPatience));
  const auto told = CO_TRY(co_await read_shards(*store));
  if (*number >= told.places.size()) co_return fail(ErrorCode::kInternalError);
  co_return json_response(200, shard_json(store->name, told, *number));
}

}  // namespace

std::span<const Route> shard_routes() {
  static constexpr Route kRoutes[] = {
      {"GET", "v1/shards", Role::kViewer, list_shards},
      {"GET", "v1/shards/*/plan", Role::kViewer, plan_shards},
      {"POST", "v1/shards/*/*/move", Role::kOperator, move_shard},
  };
  return kRoutes;
}

}  // namespace tidemark::api
