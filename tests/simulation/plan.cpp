#include "tests/simulation/plan.h"

#include <nlohmann/json.hpp>

#include "indexes/rows/list_piece.h"
#include "tests/simulation/index_oracle.h"

namespace tidemark::simulation {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

constexpr const char* kWishNames[] = {"pause", "resume", "rebuild", "scrub", "replace", "drop"};

std::vector<std::pair<std::string, std::string>> make_keys(Dice& dice) {
  const auto partitions = 1 + dice.below(4);
  // With long keys, an archive job needs several pages.
  const bool pages = dice.chance(2000);
  const auto count = pages ? 45 + dice.below(30) : 8 + dice.below(33);
  const std::string padding(pages ? 500 : 0, 'x');
  std::vector<std::pair<std::string, std::string>> keys;
  for (std::uint64_t i = 0; i < count; ++i) {
    keys.emplace_back("p" + std::to_string(i % partitions) + padding, "r" + std::to_string(100 + i) + padding);
  }
  return keys;
}

PlannedJob make_job(Dice& dice, const Plan& plan) {
  PlannedJob job;
  json spec = {{"kind", "archive"}, {"source", "Source"}, {"destination", "Archive"}};
  const auto choice = dice.below(100);
  if (choice < 25) {
    const auto& key = plan.keys[dice.below(plan.hot_keys)];
    spec["partitionKey"] = key.first;
    spec["rowKey"] = key.second;
  } else if (choice < 60) {
    spec["filter"] = "";
  } else if (choice < 80) {
    spec["filter"] = "Group eq " + std::to_string(dice.below(3));
  } else if (choice < 95) {
    spec["filter"] = "Number ge " + std::to_string(dice.below(40));
  } else {
    spec["source"] = "Missing";
    spec["filter"] = "";
  }
  // Some jobs go the other way; others copy or delete the entities that the rest moves.
  const auto direction = dice.below(100);
  if (direction < 15 && spec["source"] == "Source") {
    spec["kind"] = "unarchive";
    std::swap(spec["source"], spec["destination"]);
  } else if (direction < 25) {
    spec["kind"] = "copy";
    spec["destination"] = "Copies";
  } else if (direction < 35) {
    spec["kind"] = "delete";
    spec.erase("destination");
  }
  if (dice.chance(800)) {
    spec = {{"kind", "callback"},
            {"url", dice.chance(1500) ? kGoneUrl : kEndpointUrl},
            {"body", std::to_string(dice.next())},
            {"timeoutMs", 100 + dice.below(3000)}};
  }
  if (dice.chance(3500)) spec["onEnd"] = {{"url", dice.chance(1000) ? kGoneUrl : kEndpointUrl}};
  spec["maxAttempts"] = 1 + dice.below(20);
  spec["idempotencyKey"] = "k" + std::to_string(dice.next());
  if (dice.chance(6000)) spec["priority"] = dice.chance(5000) ? "low" : "high";
  if (!dice.chance(300)) job.spec = spec.dump();
  job.after = dice.between(0ms, 4s);
  job.cancelled = dice.chance(700);
  job.cancel_after = dice.between(0ms, 3s);
  job.undone = dice.chance(1500);
  return job;
}

/// Returns the spec of a job for one entity, with as few members as possible.
json small_spec(Dice& dice, const Plan& plan) {
  const auto& key = plan.keys[dice.below(plan.keys.size())];
  const bool back = dice.chance(2000);
  return {{"kind", back ? "unarchive" : "archive"},
          {"source", back ? "Archive" : "Source"},
          {"destination", back ? "Source" : "Archive"},
          {"partitionKey", key.first},
          {"rowKey", key.second},
          {"maxAttempts", 20}};
}

PlannedJob make_small_job(Dice& dice, const Plan& plan, Duration when) {
  auto spec = small_spec(dice, plan);
  if (dice.chance(2000)) spec["priority"] = "high";
  spec["idempotencyKey"] = "k" + std::to_string(dice.next());
  PlannedJob job;
  job.spec = spec.dump();
  job.after = when + dice.between(0ms, 50ms);
  job.cancelled = dice.chance(700);
  job.cancel_after = dice.between(0ms, 200ms);
  job.undone = dice.chance(500);
  return job;
}

PlannedGroup make_group(Dice& dice, const Plan& plan) {
  PlannedGroup group;
  group.name = "nightly";
  json batch = {{"group", group.name}, {"onEnd", {{"url", kEndpointUrl}}}, {"jobs", json::array()}};
  for (auto left = 2 + dice.below(4); left > 0; --left) {
    auto spec = small_spec(dice, plan);
    if (dice.chance(2000)) spec["source"] = "Missing";  // ends as poison
    if (dice.chance(2000)) spec["onEnd"] = {{"url", kEndpointUrl}};
    if (dice.chance(3000)) spec["priority"] = "low";
    batch["jobs"].push_back(std::move(spec));
  }
  group.batch = batch.dump();
  group.after = dice.between(0ms, 4s);
  return group;
}

PlannedIndex make_index(Dice& dice, const std::string& name) {
  PlannedIndex index;
  index.name = name;
  index.after = dice.between(0ms, 4s);
  if (dice.chance(3000)) index.max_changes = 3 + dice.below(20);
  for (auto left = dice.chance(4000) ? 0 : dice.below(5); left > 0; --left) {
    const auto wish = static_cast<IndexWish>(dice.below(static_cast<std::uint64_t>(IndexWish::kLast) + 1));
    index.wishes.emplace_back(wish, dice.between(0ms, 3s));
    if (wish == IndexWish::kDrop) break;
  }
  return index;
}

PlannedJob make_index_job(Dice& dice) {
  json spec = {{"kind", "index"}, {"source", "Source"}, {"destination", "ByJob"}, {"maxAttempts", 20}};
  spec["property"] = dice.chance(5000) ? "Group" : "Number";
  spec["idempotencyKey"] = "k" + std::to_string(dice.next());
  PlannedJob job;
  job.spec = spec.dump();
  job.after = dice.between(0ms, 4s);
  job.cancelled = dice.chance(2000);
  job.cancel_after = dice.between(0ms, 2s);
  return job;
}

/// Draws transfers from dice of their own, so that the rest of a plan does not depend on them.
PlannedTransfers make_transfers(std::uint64_t seed) {
  Dice dice(seed * 0x9E3779B97F4A7C15U + 1);
  PlannedTransfers transfers;
  if (!dice.chance(4000)) return transfers;
  for (auto left = 2 + dice.below(5); left > 0; --left) {
    transfers.accounts.emplace_back("p" + std::to_string(left), "r" + std::to_string(dice.below(3)));
  }
  for (auto left = 3 + dice.below(10); left > 0; --left) {
    const auto from = dice.below(transfers.accounts.size());
    const auto to = (from + 1 + dice.below(transfers.accounts.size() - 1)) % transfers.accounts.size();
    const auto cents = static_cast<std::int64_t>(1 + dice.below(70));
    const auto account = [&](std::size_t at) {
      return json{
          {"table", "Bank"}, {"partitionKey", transfers.accounts[at].first}, {"rowKey", transfers.accounts[at].second}};
    };
    auto guard = account(from);
    guard["as"] = "p";
    guard["where"] = "Cents ge " + std::to_string(cents) + "L";
    auto receives = account(to);
    receives["add"] = {{"Cents", cents}};
    const json audit{
        {"table", "Audit"}, {"partitionKey", "{p.Cents}"}, {"rowKey", "{job.id}"}, {"entity", {{"Cents", cents}}}};
    json steps = {{{"merge", {{"of", "p"}, {"add", {{"Cents", -cents}}}}}},
                  {{"message", {{"queue", "mail"}, {"text", "{job.id}"}}}},
                  {{"merge", std::move(receives)}},
                  {{dice.chance(5000) ? "insert" : "put", audit}}};
    if (dice.chance(5000)) std::swap(steps[1], steps[3]);
    json spec{
        {"kind", "transaction"}, {"guards", {std::move(guard)}}, {"steps", std::move(steps)}, {"maxAttempts", 100}};
    spec["idempotencyKey"] = "t" + std::to_string(dice.next());
    PlannedJob job;
    job.spec = spec.dump();
    job.after = dice.between(0ms, 4s);
    job.cancelled = dice.chance(2000);
    job.cancel_after = dice.between(0ms, 500ms);
    transfers.jobs.push_back(std::move(job));
  }
  transfers.shipped = dice.chance(6000);
  return transfers;
}

/// Draws a rate, which is zero in some seeds.
std::uint64_t rate(Dice& dice, std::uint64_t most) { return dice.chance(3000) ? 0 : dice.below(most + 1); }

}  // namespace

Plan make_plan(Dice& dice, std::uint64_t seed) {
  Plan plan;
  plan.queries = seed % 2 == 0;
  plan.transfers = make_transfers(seed);
  constexpr std::size_t kFewKeys = 64;
  plan.piece_units = seed / 2 % 2 == 0 ? indexes::kPieceUnits : kFewKeys;
  plan.workers = 2 + static_cast<int>(dice.below(2));
  plan.concurrency = 1 + dice.below(3);
  plan.lease = dice.between(300ms, 3s);
  plan.poll = dice.between(200ms, 4s);
  plan.retry_base = dice.between(20ms, 300ms);
  plan.keys = make_keys(dice);
  plan.hot_keys = 1 + dice.below(std::min<std::uint64_t>(8, plan.keys.size()));
  plan.user_pause = dice.chance(5000) ? dice.between(2ms, 20ms) : dice.between(20ms, 150ms);
  const auto jobs = 1 + dice.below(3);
  for (std::uint64_t i = 0; i < jobs; ++i) plan.jobs.push_back(make_job(dice, plan));
  // Some seeds have a burst of small jobs, which workers carry out together.
  if (dice.chance(4000)) {
    const auto when = dice.between(0ms, 4s);
    for (auto left = 4 + dice.below(12); left > 0; --left) plan.jobs.push_back(make_small_job(dice, plan, when));
  }
  if (dice.chance(2500)) plan.group = make_group(dice, plan);
  plan.endpoint.fail = rate(dice, 5000);
  plan.endpoint.throttle = rate(dice, 5000);
  plan.endpoint.slow = rate(dice, 5000);
  plan.faults_last = dice.between(4s, 15s);
  plan.link.lose_request = rate(dice, 500);
  plan.link.lose_reply = rate(dice, 700);
  plan.link.duplicate = rate(dice, 2500);
  plan.link.slow = rate(dice, 2000);
  plan.link.very_slow = rate(dice, 500);
  plan.link.usual = dice.between(1ms, 25ms);
  if (!dice.chance(2500)) plan.gaps.crash = dice.between(100ms, 4s);
  if (!dice.chance(4000)) plan.gaps.freeze = dice.between(500ms, 5s);
  if (dice.chance(5000)) plan.skew = dice.between(0ms, 5s);
  if (dice.chance(5000)) plan.gaps.jump = dice.between(300ms, 5s);
  if (dice.chance(3500)) {
    for (const auto& [name, definition] : simulated_indexes()) {
      if (dice.chance(6000)) {
        plan.indexes.push_back(make_index(dice, name));
      }
    }
  }
  plan.index_jobs = dice.chance(1500);
  for (auto left = plan.index_jobs ? 1 + dice.below(3) : 0; left > 0; --left) plan.jobs.push_back(make_index_job(dice));
  if (dice.chance(5000)) plan.queue_shards = 2 + dice.below(3);
  if (dice.chance(5000)) {
    plan.table_shards = 2 + dice.below(3);
    plan.table_processes = 2 + static_cast<int>(dice.below(2));
  }
  if (plan.queue_shards > 1 && dice.chance(6000)) plan.queue_processes = 2 + static_cast<int>(dice.below(2));
  if (plan.queue_shards > 1 && dice.chance(5000)) plan.job_parts = static_cast<std::uint32_t>(plan.queue_shards);
  return plan;
}

std::string describe(const Plan& plan) {
  const auto ms = [](Duration d) { return std::chrono::duration_cast<std::chrono::milliseconds>(d).count(); };
  json out = {{"workers", plan.workers},
              {"queries", plan.queries},
              {"concurrency", plan.concurrency},
              {"leaseMs", ms(plan.lease)},
              {"pollMs", ms(plan.poll)},
              {"entities", plan.keys.size()},
              {"hotKeys", plan.hot_keys},
              {"pieceUnits", plan.piece_units},
              {"userPauseMs", ms(plan.user_pause)},
              {"faultsLastMs", ms(plan.faults_last)},
              {"loseRequest", plan.link.lose_request},
              {"loseReply", plan.link.lose_reply},
              {"duplicate", plan.link.duplicate},
              {"slow", plan.link.slow},
              {"verySlow", plan.link.very_slow},
              {"usualMs", ms(plan.link.usual)},
              {"endpointFails", plan.endpoint.fail},
              {"endpointThrottles", plan.endpoint.throttle},
              {"endpointSlow", plan.endpoint.slow},
              {"group", plan.group.batch.size() > 2000 ? "of entities with long keys" : plan.group.batch},
              {"crashGapMs", ms(plan.gaps.crash)},
              {"freezeGapMs", ms(plan.gaps.freeze)},
              {"skewMs", ms(plan.skew)},
              {"jumpGapMs", ms(plan.gaps.jump)},
              {"tableShards", plan.table_shards},
              {"tableProcesses", plan.table_processes},
              {"queueShards", plan.queue_shards},
              {"queueProcesses", plan.queue_processes},
              {"jobParts", plan.job_parts},
              {"transfers", plan.transfers.jobs.size()},
              {"shipped", plan.transfers.shipped}};
  for (const auto& job : plan.jobs) {
    auto text = job.spec.empty() ? "no job" : job.spec.size() > 400 ? "an entity with a long key" : job.spec;
    out["jobs"].push_back(
        {{"spec", text}, {"afterMs", ms(job.after)}, {"cancelled", job.cancelled}, {"undone", job.undone}});
  }
  for (const auto& index : plan.indexes) {
    auto wishes = json::array();
    for (const auto& [wish, after] : index.wishes) wishes.push_back({kWishNames[static_cast<int>(wish)], ms(after)});
    out["indexes"].push_back(
        {{"name", index.name}, {"afterMs", ms(index.after)}, {"maxChanges", index.max_changes}, {"wishes", wishes}});
  }
  return out.dump();
}

}  // namespace tidemark::simulation
