#include <CLI/CLI.hpp>

#include "api/cli/commands.h"
#include "api/cli/paged_list.h"

namespace tidemark::cli {
namespace {

using nlohmann::json;

/// Shows how much of its maximum an account uses.
std::string part_used(const json& holding) {
  if (!holding.contains("used") || !holding.contains("most")) return "";
  const auto percent = 100 * holding["used"].get<double>() / holding["most"].get<double>();
  return std::to_string(static_cast<int>(percent)) + " %";
}

std::string amount_of(const json& holding) { return holding.contains("used") ? cell(holding, "used") : "not measured"; }

/// "high, normal, low, heavy", in the form of the settings.
std::string queues_of(const json& queues) {
  std::string out;
  for (const auto& queue : queues) {
    auto name = text_of(queue);
    const std::string prefix = "tidemark-jobs";
    name = name == prefix ? "normal" : name.substr(std::min(name.size(), prefix.size() + 1));
    out += (out.empty() ? "" : ", ") + name;
  }
  return out;
}

std::string life(const json& alive) { return alive == true ? "alive" : "lost"; }

}  // namespace

void add_operator_commands(const Commands& program) {
  const auto kind_table = table_of({{"kind", "/kind"}, {"state", "/paused", activity}, {"queue", "/queue"}});
  const auto kinds = program.family("kind", "pause and resume kinds of job, and give them queues");
  kinds.add("list", "all kinds, and whether they are paused", [kind_table](const GlobalOptions& options) {
    return call_and_print(options, "GET", "/v1/kinds", member_of("kinds", kind_table));
  });
  kinds.add_for_one("kinds", "kind", "the kind of job",
                    {{"pause", "jobs of this kind wait; running ones stop within a page", "PATCH", "", kind_table,
                      R"({"paused":true})"},
                     {"resume", "jobs of this kind continue, within about a second", "PATCH", "", kind_table,
                      R"({"paused":false})"}});
  auto kind = std::make_shared<std::string>();
  auto queue = std::make_shared<std::string>();
  auto& route = kinds.add("queue", "jobs of this kind that name no queue wait in this one from now on",
                          [kind, queue, kind_table](const GlobalOptions& options) {
                            return call_and_print(options, "PATCH", item_path("kinds", *kind), kind_table,
                                                  json{{"queue", *queue}}.dump());
                          });
  route.add_option("kind", *kind, "the kind of job")->required();
  route.add_option("queue", *queue, "the queue's name; default: those of the priorities")->required();

  const auto worker_table = table_of({{"worker", "/name"},
                                      {"state", "/alive", life},
                                      {">running", "/running"},
                                      {">of", "/concurrency"},
                                      {"takes from", "/queues", queues_of},
                                      {"host", "/host"},
                                      {">pid", "/pid"},
                                      {"version", "/version"},
                                      {"since", "/startedAt", time_of},
                                      {"last heard", "/heartbeatAt", time_of}},
                                     "no workers: is one running?");
  program.family("worker", "the workers of the stack")
      .add("list", "workers that are alive, and those lost recently", [worker_table](const GlobalOptions& options) {
        return list_and_print(options, "/v1/workers", "workers", kWhole, worker_table);
      });

  const auto account_table = table_of({{"account", "/account"},
                                       {"store", "/store"},
                                       {"of", "/of"},
                                       {">has", "", amount_of},
                                       {">may have", "/most"},
                                       {">", "", part_used}});
  program.family("account", "what accounts have in the stores")
      .add("list", "what each account has, and may have, in each store", [account_table](const GlobalOptions& options) {
        return call_and_print(options, "GET", "/v1/accounts", member_of("accounts", account_table));
      });
}

}  // namespace tidemark::cli
