#include <CLI/CLI.hpp>
#include <map>

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
    const std::string work = "tidemark-work-";
    if (name.starts_with(work)) {
      if (name.ends_with("-high") || name.ends_with("-low")) continue;
      out += (out.empty() ? "" : ", ") + name.substr(work.size());
      continue;
    }
    const std::string prefix = "tidemark-jobs";
    name = name == prefix ? "normal" : name.substr(std::min(name.size(), prefix.size() + 1));
    out += (out.empty() ? "" : ", ") + name;
  }
  return out;
}

/// "2: 14 queued, 3 running, no worker"
std::string versions_of(const json& versions) {
  std::string out;
  for (const auto& each : versions) {
    out += (out.empty() ? "" : "; ") + cell(each, "version") + ": " + cell(each, "queued") + " queued, " +
           cell(each, "running") + " running" + (each.contains("waiting") ? ", no worker" : "");
  }
  return out;
}

/// The options of a declaration, by the members that they set.
struct KindArguments {
  std::string name;
  std::map<std::string, std::int64_t> values;
  std::int64_t running = -1, per_second = -1;
  bool steps = false;
};

json declaration_of(const KindArguments& a) {
  auto out = json::object();
  for (const auto& [member, value] : a.values) {
    if (value >= 0) out[member] = value;
  }
  if (a.running >= 0) out["perKey"]["running"] = a.running;
  if (a.per_second >= 0) out["perKey"]["perSecond"] = a.per_second;
  if (a.steps) out["steps"] = true;
  return out;
}

void add_kind_declarations(const Commands& kinds, const Print& kind_table) {
  auto a = std::make_shared<KindArguments>();
  auto& put = kinds.add(
      "put", "declare a kind of your own, or replace its declaration", [a, kind_table](const GlobalOptions& options) {
        return call_and_print(options, "PUT", item_path("kinds", a->name), kind_table, declaration_of(*a).dump());
      });
  put.add_option("kind", a->name, "its name: lower-case letters, digits and hyphens")->required();
  const auto number = [&](const char* flag, const char* member, const char* meaning) {
    a->values[member] = -1;
    put.add_option(flag, a->values[member], meaning)->check(CLI::NonNegativeNumber);
  };
  number("--lease-seconds", "leaseSeconds", "time after which the job of a silent worker goes to another one (30)");
  number("--max-attempts", "maxAttempts", "attempts before a job becomes poison (5)");
  number("--retry-base-ms", "retryBaseMs", "greatest delay before the first retry");
  number("--retry-cap-ms", "retryCapMs", "greatest delay before any retry");
  number("--keep-hours", "keepHours", "keep records so long after the end");
  put.add_option("--per-key-running", a->running, "jobs of one key at once; 0: no limit")
      ->check(CLI::NonNegativeNumber);
  put.add_option("--per-key-per-second", a->per_second, "jobs of one key that begin in a second; 0: no limit")
      ->check(CLI::NonNegativeNumber);
  put.add_flag("--steps", a->steps, "its workers may end jobs with steps");
  kinds.add_for_one("kinds", "kind", "the kind of job",
                    {{"show", "one kind, with its declaration and versions", "GET", "", kind_table},
                     {"drop", "no more jobs of this kind are taken; those that wait go on waiting", "DELETE", "",
                      [](const json&) {}}});
}

std::string life(const json& alive) { return alive == true ? "alive" : "lost"; }

}  // namespace

void add_operator_commands(const Commands& program) {
  const auto kind_table = table_of({{"kind", "/kind"},
                                    {"state", "/paused", activity},
                                    {"queue", "/queue"},
                                    {"versions", "/own/versions", versions_of}});
  const auto kinds = program.family("kind", "declare kinds of your own, pause and resume kinds, and give them queues");
  add_kind_declarations(kinds, kind_table);
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
  const auto workers = program.family("worker", "the workers of the stack, and your own");
  workers.add("list", "workers that are alive, and those lost recently", [worker_table](const GlobalOptions& options) {
    return list_and_print(options, "/v1/workers", "workers", kWhole, worker_table);
  });
  workers.add_for_one(
      "workers", "worker", "the name of a worker of your own",
      {{"quiet", "it takes nothing more, and ends what is under way", "POST", "/quiet", [](const json&) {}},
       {"resume", "it takes jobs again", "POST", "/resume", [](const json&) {}}});

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
