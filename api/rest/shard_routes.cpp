// Shards of the stores: their processes and loads, a plan to relieve them, and the wish that a process should have one.
#include "api/rest/shard_routes.h"

#include "api/maintenance/split_plan.h"
#include "api/rest/parameters.h"
#include "api/rest/render.h"
#include "api/rest/request_body.h"
#include "common/base/numbers.h"
#include "common/base/side_by_side.h"
#include "common/rpc/call.h"
#include "jobs/spec/spec_members.h"

namespace tidemark::api {
namespace {

using nlohmann::json;
using service::StoreShards;

constexpr Duration kLoadPatience = std::chrono::seconds(4);
/// A wish takes this long at most, because it waits for the database.
constexpr Duration kWishPatience = std::chrono::seconds(8);
constexpr std::int64_t kMostCarried = 10'000'000;

struct ShownName {
  service::HotName name;
  static constexpr const char* kSchema = "HotName";
  void members(jobs::SpecMembers& to) const {
    to.shows("account", name.account);
    to.shows("name", name.name, {.meaning = "the table, queue or container"});
    to.shows_unless_empty("part", name.part, {.meaning = "a PartitionKey or a blob"});
    to.shows("writesPerSecond", name.writes_per_s, {.meaning = "at least so many, estimated from a sample"});
  }
};

/// Explains why the load of a shard is unknown.
std::string unknown_because(const StoreShards& told, const std::string& process) {
  if (process.empty()) return "Nobody serves it at this moment.";
  for (const auto& each : told.processes) {
    if (each.name == process && !each.trouble.empty()) return "Its process does not tell: " + each.trouble;
  }
  return "It is being handed over.";
}

/// Returns the host and port in the address of a process.
std::string host_of(const std::string& address) { return address.substr(0, address.find(' ')); }

struct ShownShard {
  std::string store;
  StoreShards told{.places = {{}}};
  std::size_t number = 0;
  static constexpr const char* kSchema = "Shard";
  void members(jobs::SpecMembers& to) const {
    const auto& place = told.places[number];
    const auto* load = load_of(told, number);
    const auto& process = load != nullptr ? load->process : place.process;
    std::string address;
    for (const auto& each : told.processes) {
      if (each.name == process) address = host_of(each.address);
    }
    to.shows("store", store);
    to.shows("shard", number);
    to.shows("shared", told.shared, {.meaning = "several processes may serve it"});
    to.shows_unless_empty("process", process, {.meaning = "the process that serves it; absent: none at this moment"});
    to.shows_unless_empty("address", address);
    const auto epoch = std::max(place.epoch, load != nullptr ? load->epoch : 0);
    to.shows("epoch", told.shared ? std::optional(epoch) : std::nullopt,
             {.meaning = "rises with each change of owner"});
    to.shows_unless_empty("wish", place.wish, {.meaning = "the process that is to have it"});
    to.shows("rows", place.rows, {.meaning = "an estimate"});
    to.shows("bytes", place.bytes, {.meaning = "an estimate"});
    to.shows_unless_empty("unknown", load == nullptr && to.writes() ? unknown_because(told, process) : std::string(),
                          {.meaning = "why it is not known how busy it is"});
    show_load(to, load);
  }

 private:
  static void show_load(jobs::SpecMembers& to, const service::ShardLoad* reported) {
    const bool known = reported != nullptr;
    const auto load = known ? *reported : service::ShardLoad{};
    auto hottest = shown_all<ShownName>(load.hottest);
    to.shows("writesPerSecond", load.writes_per_s, {.meaning = "transactions of the last ten seconds"});
    to.shows("waiting", known ? std::optional(load.waiting) : std::nullopt,
             {.meaning = "transactions that wait for the writer"});
    to.shows("servedSeconds", known ? std::optional(load.served_for) : std::nullopt,
             {.meaning = "how long this process has served it"});
    to.shows("leaseSeconds", load.lease_left, {.meaning = "how long its lease is still good"});
    to.shows("hottest", known ? std::optional(std::move(hottest)) : std::nullopt);
  }
};

struct ShownProcess {
  service::StoreProcess process;
  std::size_t shards = 0;
  double writes = 0;
  static constexpr const char* kSchema = "StoreProcess";
  void members(jobs::SpecMembers& to) const {
    to.shows("name", process.name);
    to.shows_unless_empty("address", host_of(process.address));
    to.shows("shards", shards, {.meaning = "how many it serves"});
    to.shows("writesPerSecond", process.trouble.empty() ? std::optional(writes) : std::nullopt);
    to.shows_unless_empty("trouble", process.trouble, {.meaning = "why it does not tell how busy its shards are"});
  }
};

ShownProcess shown(const StoreShards& told, const service::StoreProcess& process) {
  ShownProcess out;
  out.process = process;
  for (std::size_t number = 0; number < told.places.size(); ++number) {
    const auto* load = load_of(told, number);
    if ((load != nullptr ? load->process : told.places[number].process) != process.name) continue;
    ++out.shards;
    out.writes += load != nullptr ? load->writes_per_s.value_or(0) : 0;
  }
  return out;
}

struct ShownStore {
  std::string name, trouble;
  std::optional<bool> shared;
  std::optional<std::vector<ShownProcess>> processes;
  std::optional<std::vector<ShownShard>> shards;
  static constexpr const char* kSchema = "StoreShards";
  void members(jobs::SpecMembers& to) const {
    to.shows("store", name);
    to.shows_unless_empty("trouble", trouble, {.meaning = "why the store does not answer"});
    to.shows("shared", shared);
    to.shows("processes", processes);
    to.shows("shards", shards);
  }
};

ShownStore shown(const std::string& name, const Result<StoreShards>& told) {
  ShownStore out;
  out.name = name;
  if (!told) {
    out.trouble = told.error().message;
    return out;
  }
  out.shared = told->shared;
  out.processes.emplace();
  for (const auto& process : told->processes) out.processes->push_back(shown(*told, process));
  out.shards.emplace();
  for (std::size_t number = 0; number < told->places.size(); ++number) out.shards->push_back({name, *told, number});
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
  std::vector<ShownStore> told(stores.size());
  Step step = [&](std::size_t number) -> Task<Result<void>> {
    told[number] = shown(stores[number].name, co_await read_shards(stores[number]));
    co_return Result<void>{};
  };
  std::ignore = co_await side_by_side(api.clock, stores.size(), std::move(step));
  co_return json_response(200, {{"stores", jobs::shown(told)}});
}

struct ShownHotPart {
  SplitPlan::Part part;
  void members(jobs::SpecMembers& to) const {
    ShownName{part.name}.members(to);
    to.shows("ofShard", part.of_shard, {.meaning = "its share of the shard's transactions, 0 to 1"});
    to.shows("tooHot", part.too_hot, {.meaning = "it alone is more than a shard can carry"});
    to.shows("spreadOver", part.spread_over,
             {.meaning = "with so many partitions, queues or blobs, each would take half of a shard's capacity"});
  }
};

struct ShownHotShard {
  SplitPlan::HotShard hot;
  void members(jobs::SpecMembers& to) const {
    to.shows("shard", hot.number);
    to.shows_unless_empty("process", hot.process);
    to.shows("writesPerSecond", hot.writes_per_s);
    to.shows("parts", shown_all<ShownHotPart>(hot.parts));
    to.shows("withoutParts", hot.without_parts);
  }
};

struct ShownMove {
  SplitPlan::Move move;
  void members(jobs::SpecMembers& to) const {
    to.shows("shard", move.shard);
    to.shows("from", move.from);
    to.shows("to", move.to);
    to.shows("writesPerSecond", move.writes_per_s);
  }
};

struct ShownChange {
  SplitPlan::Change change;
  static constexpr const char* kSchema = "SplitChange";
  void members(jobs::SpecMembers& to) const {
    to.shows("before", change.before);
    to.shows("after", change.after);
  }
};

struct ShownSplitPlan {
  std::string store;
  SplitPlan plan;
  static constexpr const char* kSchema = "SplitPlan";
  void members(jobs::SpecMembers& to) const {
    to.shows("store", store);
    to.shows("carries", plan.carries, {.meaning = "transactions a second that a shard can carry"});
    to.shows("complete", plan.complete, {.meaning = "the load of every shard is known"});
    to.shows("hot", shown_all<ShownHotShard>(plan.hot));
    to.shows("moves", shown_all<ShownMove>(plan.moves));
    to.shows("busiestProcess", ShownChange{plan.busiest_process});
    to.shows("hottestShard", ShownChange{plan.hottest_shard});
    to.shows("advice", plan.advice);
  }
};

/// The process that is to have a shard; null withdraws the wish.
struct ShardMove {
  std::string process;
  static constexpr const char* kSchema = "ShardMove";
  void members(jobs::SpecMembers& in) {
    if (in.describes()) {
      in.describe("process", {{"type", {"string", "null"}}}, {.meaning = "its name; null withdraws the wish"}, true);
    }
    const auto* given = in.any("process");
    if (given == nullptr || given->is_null()) {
      if (given == nullptr) in.problem("process is missing: the name of one, or null to withdraw the wish");
      return;
    }
    if (in.text("process", process) && process.empty()) in.problem("process must be the name of one, or null");
  }
};

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
  co_return json_response(200, json_of(ShownSplitPlan{name, plan}));
}

Answer move_shard(Api& api, http::Request& request, Action& action, std::string target) {
  const auto body = CO_TRY(co_await request.body->read_all(kMaxBodyBytes));
  auto process = CO_TRY(members_in<ShardMove>(body)).process;
  action.detail = body;
  const auto slash = target.rfind('/');
  const auto number = parse_number<std::uint64_t>(target.substr(slash + 1));
  if (!number) co_return fail(ErrorCode::kInvalidInput, "A shard is named by its number.");
  const auto* const store = CO_TRY(find_store(api, target.substr(0, slash)));
  CO_TRY(co_await rpc::call(*store->link, service::calls::WishShard{"", *number, std::move(process)}, kWishPatience));
  const auto told = CO_TRY(co_await read_shards(*store));
  if (*number >= told.places.size()) co_return fail(ErrorCode::kInternalError);
  co_return json_response(200, json_of(ShownShard{store->name, told, *number}));
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

nlohmann::ordered_json shard_schemas() {
  nlohmann::ordered_json out;
  jobs::add_requests<ShardMove>(out);
  jobs::add_answers<ShownName, ShownShard, ShownProcess, ShownStore, ShownChange, ShownSplitPlan>(out);
  return out;
}

}  // namespace tidemark::api
