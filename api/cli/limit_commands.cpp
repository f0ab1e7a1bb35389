#include <CLI/CLI.hpp>
#include <iostream>

#include "api/cli/answers.h"
#include "api/cli/commands.h"

namespace tidemark::cli {
namespace {

using nlohmann::json;

/// What a limit command was given.
struct Asked {
  std::string scope;
  std::string name;
  std::string partition_key;
  int max_running = -1;
  int max_per_second = -1;
};

std::string shown(const json& limit, const char* member) {
  const auto number = limit.value(member, 0);
  return number == 0 ? "no limit" : std::to_string(number);
}

void print_limits(const json& limits) {
  TextTable table({"limit of", "name", ">at once", ">entities/s", "partition"});
  for (const auto& limit : limits) {
    table.add({cell(limit, "scope"), cell(limit, "name"), shown(limit, "maxRunning"), shown(limit, "maxPerSecond"),
               cell(limit, "partitionKey")});
  }
  table.print(std::cout);
}

void print_limit(const json& limit) { print_limits(json::array({limit})); }

int set_limit(const GlobalOptions& options, const Asked& asked) {
  json body{{"scope", asked.scope}, {"name", asked.name}};
  if (asked.scope == "partition") body["partitionKey"] = asked.partition_key;
  if (asked.max_running >= 0) body["maxRunning"] = asked.max_running;
  if (asked.max_per_second >= 0) body["maxPerSecond"] = asked.max_per_second;
  return call_and_print(options, "PATCH", "/v1/limits", body.dump(), print_limit);
}

void add_scope(CLI::App& limits, const GlobalOptions& options, Run& run, const char* scope, const char* meaning) {
  auto asked = std::make_shared<Asked>();
  asked->scope = scope;
  auto* command = limits.add_subcommand(scope, meaning);
  const bool partition = asked->scope == "partition";
  command->add_option(partition ? "table" : "name", asked->name, partition ? "its table" : "its name")->required();
  if (partition) command->add_option("key", asked->partition_key, "its PartitionKey")->required();
  auto* running = command->add_option("--max-running", asked->max_running, "jobs at once; 0: no limit");
  running->check(CLI::Range(0, 1000));
  auto* rate = command->add_option("--max-per-second", asked->max_per_second, "entities a second; 0: no limit");
  rate->check(CLI::Range(0, 10'000'000));
  command->callback([&run, &options, asked] { run = [&options, asked] { return set_limit(options, *asked); }; });
}

}  // namespace

void add_limit_commands(CLI::App& app, const GlobalOptions& options, Run& run) {
  auto* limits = app.add_subcommand("limit", "how much of something jobs may do at once, and how fast");
  limits->require_subcommand(1);
  auto* listing = limits->add_subcommand("list", "all limits");
  listing->callback([&run, &options] {
    run = [&options] {
      return call_and_print(options, "GET", "/v1/limits", {},
                            [](const json& page) { print_limits(page.value("limits", json::array())); });
    };
  });
  add_scope(*limits, options, run, "kind", "of a kind of job");
  add_scope(*limits, options, run, "table", "of the jobs that name a table, and of what they change in it");
  add_scope(*limits, options, run, "partition", "of the transactions of jobs in one partition of a table");
}

}  // namespace tidemark::cli
