#include <CLI/CLI.hpp>

#include "api/cli/commands.h"

namespace tidemark::cli {
namespace {

using nlohmann::json;

/// The arguments of a limit command.
struct AskedLimit {
  std::string name;
  std::string partition_key;
  int max_running = -1;
  int max_per_second = -1;
};

std::string amount(const json& limit) { return limit.is_null() || limit == 0 ? "no limit" : limit.dump(); }

Print limit_table() {
  return table_of({{"limit of", "/scope"},
                   {"name", "/name"},
                   {">at once", "/maxRunning", amount},
                   {">entities/s", "/maxPerSecond", amount},
                   {"partition", "/partitionKey"}},
                  "no limits");
}

void add_scope(const Commands& limits, const std::string& scope, const char* meaning) {
  auto asked = std::make_shared<AskedLimit>();
  const bool partition = scope == "partition";
  auto& command = limits.add(scope.c_str(), meaning, [asked, scope, partition](const GlobalOptions& options) {
    json body{{"scope", scope}, {"name", asked->name}};
    if (partition) body["partitionKey"] = asked->partition_key;
    if (asked->max_running >= 0) body["maxRunning"] = asked->max_running;
    if (asked->max_per_second >= 0) body["maxPerSecond"] = asked->max_per_second;
    return call_and_print(options, "PATCH", "/v1/limits", limit_table(), body.dump());
  });
  command.add_option(partition ? "table" : "name", asked->name, partition ? "its table" : "its name")->required();
  if (partition) command.add_option("key", asked->partition_key, "its PartitionKey")->required();
  command.add_option("--max-running", asked->max_running, "jobs at once; 0: no limit")->check(CLI::Range(0, 1000));
  command.add_option("--max-per-second", asked->max_per_second, "entities a second; 0: no limit")
      ->check(CLI::Range(0, 10'000'000));
}

}  // namespace

void add_limit_commands(const Commands& program) {
  const auto limits = program.family("limit", "limit how many jobs run at once, and how fast");
  limits.add("list", "all limits", [](const GlobalOptions& options) {
    return call_and_print(options, "GET", "/v1/limits", member_of("limits", limit_table()));
  });
  add_scope(limits, "kind", "of a kind of job");
  add_scope(limits, "table", "of the jobs that name a table, and of the changes in it");
  add_scope(limits, "partition", "of transactions in one partition of a table");
}

}  // namespace tidemark::cli
