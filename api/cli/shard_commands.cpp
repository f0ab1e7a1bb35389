// The shards of the stores: their processes, moves between these, and plans to relieve hot shards.
#include "api/cli/shard_commands.h"

#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdio>
#include <iostream>
#include <thread>

namespace tidemark::cli {
namespace {

using nlohmann::json;

constexpr int kDefaultWaitS = 60;

std::string about_bytes(const json& value) {
  return value.is_null() ? "?" : readable_bytes(value.get<std::uint64_t>());
}
std::string or_unknown(const json& value) { return value.is_null() ? "?" : text_of(value); }
std::string percent_of(const json& value) { return std::to_string(static_cast<int>(100 * value.get<double>())) + " %"; }

std::string owner_of(const json& shard) {
  if (shard.value("shared", false)) return shard.value("process", "nobody");
  return "this process";
}

/// Joins a member of every store into one list; names the stores that do not answer on standard error.
json joined(const json& stores, const char* member) {
  auto all = json::array();
  for (const auto& store : stores.at("stores")) {
    if (store.contains("trouble")) {
      std::cerr << "(the " << text_of(store.at("store")) << " store does not answer: " << text_of(store.at("trouble"))
                << ")\n";
    }
    for (auto item : store.value(member, json::array())) {
      item["store"] = store.at("store");
      all.push_back(std::move(item));
    }
  }
  return all;
}

Print shard_table() {
  return table_of(
      {{"store", "/store"},
       {">shard", "/shard"},
       {"served by", "", owner_of},
       {"at", "/address"},
       {">epoch", "/epoch"},
       {">about rows", "/rows", or_unknown},
       {">about bytes", "/bytes", about_bytes},
       {">writes/s", "/writesPerSecond", one_decimal},
       {">waiting", "/waiting", or_unknown},
       {"served for", "/servedSeconds", duration_of},
       {">lease s", "/leaseSeconds", [](const json& left) { return left.is_null() ? "" : one_decimal(left); }},
       {"to go to", "/wish"},
       {"unknown because", "/unknown"}});
}

Result<int> list_shards(const GlobalOptions& options) {
  return call_and_print(options, "GET", "/v1/shards",
                        [](const json& answer) { shard_table()(joined(answer, "shards")); });
}

Result<int> list_processes(const GlobalOptions& options) {
  const auto table = table_of({{"process", "/name"},
                               {"store", "/store"},
                               {">shards", "/shards"},
                               {">writes/s", "/writesPerSecond", one_decimal},
                               {"at", "/address"},
                               {"unknown because", "/trouble"}});
  return call_and_print(options, "GET", "/v1/shards",
                        [table](const json& answer) { table(joined(answer, "processes")); });
}

/// The arguments of `shards move`.
struct Move {
  std::string store, process;
  std::uint64_t shard = 0;
  bool clear = false, wait = false;
  int timeout_s = kDefaultWaitS;
};

Result<json> find_shard(ApiClient& api, const Move& move) {
  const auto answer = TRY(api.call("GET", "/v1/shards"));
  for (const auto& store : answer.at("stores")) {
    if (store.at("store") != move.store) continue;
    if (store.contains("trouble")) return fail(ErrorCode::kUnavailable, text_of(store.at("trouble")));
    if (move.shard < store.at("shards").size()) return json(store.at("shards")[move.shard]);
  }
  return fail(ErrorCode::kNotFound);
}

Result<int> move_shard(const GlobalOptions& options, const Move& move) {
  if (move.clear != move.process.empty()) {
    return wrong_arguments(options, "name a process, or take the wish back with --clear");
  }
  if (move.clear && move.wait) return wrong_arguments(options, "--wait needs a process");
  auto api = TRY(ApiClient::create(options));
  const json body{{"process", move.clear ? json() : json(move.process)}};
  auto shard =
      TRY(api.call("POST", "/v1/shards/" + move.store + "/" + std::to_string(move.shard) + "/move", body.dump()));
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(move.timeout_s);
  const auto served = [&] { return shard.value("process", "") == move.process && shard.contains("servedSeconds"); };
  while (move.wait && !served()) {
    if (shard.value("wish", "") != move.process) {
      return fail(ErrorCode::kConditionNotMet, "Somebody took the wish back meanwhile, or wished something else.");
    }
    if (std::chrono::steady_clock::now() > give_up) {
      return fail(ErrorCode::kOperationTimedOut, "The process has not taken the shard yet; the wish stays.");
    }
    std::this_thread::sleep_for(kLookEvery);
    shard = TRY(find_shard(api, move));
  }
  print_answer(options, shard, shard_table());
  return kOk;
}

void print_change(const char* what, const json& change) {
  std::cout << what << ": " << one_decimal(change.at("before")) << " writes/s now, " << one_decimal(change.at("after"))
            << " then\n";
}

void print_plan(const json& plan) {
  for (const auto& advice : plan.at("advice")) std::cout << text_of(advice) << "\n";
  for (const auto& hot : plan.at("hot")) {
    std::cout << "\nshard " << hot.at("shard") << ": " << one_decimal(hot.at("writesPerSecond")) << " writes/s, "
              << one_decimal(hot.at("withoutParts")) << " without what follows\n";
    table_of({{"account", "/account"},
              {"name", "/name"},
              {"partition or blob", "/part"},
              {">writes/s", "/writesPerSecond", one_decimal},
              {">of the shard", "/ofShard", percent_of},
              {">spread over", "/spreadOver"}},
             "no name has much of it")(hot.at("parts"));
  }
  if (!plan.at("hot").empty())
    print_change("\nspread evenly over all shards, the hottest shard", plan.at("hottestShard"));
  if (plan.at("moves").empty()) return;
  std::cout << "\n";
  for (const auto& move : plan.at("moves")) {
    std::cout << "tidemark shards move " << text_of(plan.at("store")) << " " << move.at("shard") << " "
              << text_of(move.at("to")) << "\n";
  }
  print_change("so moved, the busiest process", plan.at("busiestProcess"));
}

void add_store(CLI::App& command, std::string& store) {
  command.add_option("store", store, "the store")->required()->check(CLI::IsMember({"table", "queue", "blob"}));
}

void add_move(const Commands& shards) {
  auto move = std::make_shared<Move>();
  auto& command = shards.add("move", "have a shard served by a certain process for as long as that process runs",
                             [move](const GlobalOptions& options) { return move_shard(options, *move); });
  add_store(command, move->store);
  command.add_option("shard", move->shard, "its number")->required();
  command.add_option("process", move->process, "a process of that store: see shards processes");
  command.add_flag("--clear", move->clear, "take the wish back: the shard goes where it may");
  command.add_flag("--wait", move->wait, "until the process serves it");
  command.add_option("--timeout", move->timeout_s, "seconds to wait at the most")
      ->check(CLI::Range(1, 86'400))
      ->capture_default_str();
}

void add_split_plan(const Commands& shards) {
  auto store = std::make_shared<std::string>();
  auto carries = std::make_shared<std::uint64_t>(0);
  auto& command =
      shards.add("split-plan", "what makes hot shards hot, and what moving or spreading it would give",
                 [store, carries](const GlobalOptions& options) {
                   const auto query = query_of({{"carries", *carries > 0 ? std::to_string(*carries) : ""}});
                   return call_and_print(options, "GET", item_path("shards", *store, "/plan") + query, print_plan);
                 });
  add_store(command, *store);
  command.add_option("--carries", *carries, "transactions a second that a shard can carry; without it 10000")
      ->check(CLI::Range(1, 10'000'000));
}

}  // namespace

void add_shard_commands(const Commands& program) {
  const auto shards = program.family("shards", "the shards of the stores, and the processes that serve them");
  shards.add("list", "each shard: who serves it, what it has, how busy it is", list_shards);
  shards.add("processes", "the processes of each store", list_processes);
  add_move(shards);
  add_split_plan(shards);
}

}  // namespace tidemark::cli
