#include "api/maintenance/split_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace tidemark::api {
namespace {

using service::HotName;

/// A shard is hot from this share of its capacity on; the other half is a reserve for unexpected load.
constexpr double kHot = 0.5;
/// Load below this share does not count, however unevenly it is spread.
constexpr double kNoLoad = 0.05;
/// A shard is also hot if it has this many times the mean load.
constexpr double kUneven = 2;
/// A part with a smaller share of its shard is not named.
constexpr double kWorthNaming = 0.1;
/// A move that takes a smaller share from the busiest process is not worth the pause.
constexpr double kWorthMoving = 0.05;

double writes_of(const PlannedShard& shard) { return shard.writes_per_s.value_or(0); }

double sum_of(const std::vector<PlannedShard>& shards) {
  return std::accumulate(shards.begin(), shards.end(), 0.0,
                         [](double sum, const PlannedShard& shard) { return sum + writes_of(shard); });
}

std::vector<SplitPlan::Part> parts_of(const PlannedShard& shard, double carries) {
  std::vector<SplitPlan::Part> parts;
  for (const auto& name : shard.hottest) {
    const auto share = std::min(1.0, name.writes_per_s / writes_of(shard));
    if (share < kWorthNaming) continue;
    const auto pieces = std::max(2.0, std::ceil(name.writes_per_s / (kHot * carries)));
    parts.push_back({name, share, name.writes_per_s > carries, static_cast<std::uint64_t>(pieces)});
  }
  return parts;
}

double sum_of(const std::vector<SplitPlan::Part>& parts) {
  return std::accumulate(parts.begin(), parts.end(), 0.0,
                         [](double sum, const SplitPlan::Part& part) { return sum + part.name.writes_per_s; });
}

void find_hot(const std::vector<PlannedShard>& shards, SplitPlan& plan) {
  const auto mean = sum_of(shards) / static_cast<double>(shards.size());
  for (const auto& shard : shards) {
    const auto writes = writes_of(shard);
    const bool uneven = shards.size() > 1 && writes > kUneven * mean && writes >= kNoLoad * plan.carries;
    if (writes < kHot * plan.carries && !uneven) continue;
    auto parts = parts_of(shard, plan.carries);
    const auto rest = std::max(0.0, writes - sum_of(parts));
    plan.hot.push_back({shard.number, shard.process, writes, std::move(parts), rest});
  }
  std::ranges::sort(plan.hot, std::ranges::greater(), &SplitPlan::HotShard::writes_per_s);
}

/// Each part is split into many, which are spread evenly over the shards.
void spread_parts(const std::vector<PlannedShard>& shards, SplitPlan& plan) {
  double spread = 0;
  std::map<std::size_t, double> rests;
  for (const auto& hot : plan.hot) {
    spread += hot.writes_per_s - hot.without_parts;
    rests[hot.number] = hot.without_parts;
  }
  for (const auto& shard : shards) {
    const auto rest = rests.find(shard.number);
    const auto left = rest == rests.end() ? writes_of(shard) : rest->second;
    plan.hottest_shard.before = std::max(plan.hottest_shard.before, writes_of(shard));
    plan.hottest_shard.after = std::max(plan.hottest_shard.after, left + spread / static_cast<double>(shards.size()));
  }
}

struct Process {
  std::string name;
  double writes = 0;
  std::vector<PlannedShard> shards;
};

/// The shard that moves from the busiest process to the idlest one, and the shard that moves back if their numbers of
/// shards would otherwise differ by two: then the processes would give shards back by themselves.
struct Exchange {
  const PlannedShard* there = nullptr;
  const PlannedShard* back = nullptr;
  double left = 0;  // the load of the busier of the two afterwards
};

/// `worth`: the least gain of a move, and so also of a second one.
Exchange best_exchange(const Process& from, const Process& to, double worth) {
  Exchange best{.left = from.writes};
  auto least = std::pair(from.writes, 0.0);  // the remaining load, with the price of a second move; then the moved load
  const auto consider = [&](const PlannedShard& there, const PlannedShard* back) {
    const auto returned = back != nullptr ? writes_of(*back) : 0;
    const auto moved = writes_of(there) - returned;
    const auto left = std::max(from.writes - moved, to.writes + moved);
    const auto costs = std::pair(left + (back != nullptr ? worth : 0), writes_of(there) + returned);
    if (costs >= least) return;
    least = costs;
    best = {&there, back, left};
  };
  for (const auto& there : from.shards) {
    if (to.shards.size() < from.shards.size()) consider(there, nullptr);
    for (const auto& back : to.shards) consider(there, &back);
  }
  return best;
}

void move_shard(std::size_t number, Process& from, Process& to, SplitPlan& plan) {
  const auto found = std::ranges::find(from.shards, number, &PlannedShard::number);
  const auto writes = writes_of(*found);
  plan.moves.push_back({number, from.name, to.name, writes});
  from.writes -= writes;
  to.writes += writes;
  to.shards.push_back(std::move(*found));
  from.shards.erase(found);
}

std::vector<Process> processes_of(const std::vector<PlannedShard>& shards, const std::vector<std::string>& names) {
  std::vector<Process> processes;
  for (const auto& name : names) processes.push_back({name, 0, {}});
  for (const auto& shard : shards) {
    const auto owner = std::ranges::find(processes, shard.process, &Process::name);
    if (owner == processes.end()) continue;
    owner->writes += writes_of(shard);
    owner->shards.push_back(shard);
  }
  return processes;
}

void plan_moves(const std::vector<PlannedShard>& shards, const std::vector<std::string>& names, SplitPlan& plan) {
  auto processes = processes_of(shards, names);
  if (processes.empty()) return;
  plan.busiest_process.before = std::ranges::max(processes, {}, &Process::writes).writes;
  const auto worth = std::max(kWorthMoving * plan.busiest_process.before, kNoLoad * kNoLoad * plan.carries);
  while (plan.moves.size() < kMostMoves) {
    auto& from = *std::ranges::max_element(processes, {}, &Process::writes);
    auto& to = *std::ranges::min_element(processes, {}, &Process::writes);
    const auto best = best_exchange(from, to, worth);
    if (best.there == nullptr || from.writes - best.left < worth) break;
    const auto there = best.there->number;
    const auto back = best.back != nullptr ? std::optional(best.back->number) : std::nullopt;
    move_shard(there, from, to, plan);
    if (back) move_shard(*back, to, from, plan);
  }
  plan.busiest_process.after = std::ranges::max(processes, {}, &Process::writes).writes;
}

std::string called(std::string_view store, const HotName& name) {
  if (store == "queue") return "Queue " + name.name;
  if (store == "blob") return "Blob " + name.part + " of container " + name.name;
  return "Partition \"" + name.part + "\" of table " + name.name;
}

std::string_view how_to_spread(std::string_view store) {
  if (store == "queue") return "queues";
  return store == "blob" ? "blobs" : "PartitionKeys";
}

void advise(std::string_view store, bool several, SplitPlan& plan) {
  if (!plan.complete)
    plan.advice.emplace_back("Of some shards it is not known how busy they are: the plan leaves them out.");
  if (plan.hot.empty()) {
    plan.advice.emplace_back(fmt::format(
        "No shard is hot: none has half of the {:.0f} transactions a second that one can carry.", plan.carries));
  }
  for (const auto& hot : plan.hot) {
    for (const auto& part : hot.parts) {
      const auto name = called(store, part.name);
      if (part.too_hot) {
        plan.advice.push_back(
            fmt::format("{} is alone hotter ({:.0f}/s) than a shard can carry: no move helps. Spread it over {} {}.",
                        name, part.name.writes_per_s, part.spread_over, how_to_spread(store)));
      } else {
        plan.advice.push_back(fmt::format("{} is {:.0f} % of shard {}.", name, 100 * part.of_shard, hot.number));
      }
    }
    if (hot.parts.empty()) {
      plan.advice.push_back(fmt::format("No name has much of shard {}: it is many that are busy.", hot.number));
    }
  }
  if (!plan.hot.empty() && !several) plan.advice.emplace_back("One process serves all shards, so none can be moved.");
}

}  // namespace

SplitPlan plan_split(std::string_view store, const std::vector<PlannedShard>& shards,
                     const std::vector<std::string>& processes, double carries) {
  SplitPlan plan{.carries = carries};
  plan.complete = std::ranges::all_of(shards, [](const auto& shard) { return shard.writes_per_s.has_value(); });
  if (!shards.empty()) {
    find_hot(shards, plan);
    spread_parts(shards, plan);
  }
  plan_moves(shards, processes, plan);
  advise(store, processes.size() > 1, plan);
  return plan;
}

const service::ShardLoad* load_of(const service::StoreShards& told, std::size_t shard) {
  const service::ShardLoad* found = nullptr;
  for (const auto& load : told.loads) {
    if (load.shard == shard && (found == nullptr || found->epoch < load.epoch)) found = &load;
  }
  return found;
}

std::vector<PlannedShard> planned_shards(const service::StoreShards& told) {
  std::vector<PlannedShard> shards;
  for (std::size_t number = 0; number < told.places.size(); ++number) {
    auto& shard = shards.emplace_back(number, told.places[number].process);
    const auto* load = load_of(told, number);
    if (load == nullptr) continue;
    shard.process = load->process;
    shard.writes_per_s = load->writes_per_s;
    shard.hottest = load->hottest;
  }
  return shards;
}

}  // namespace tidemark::api
