#include <CLI/CLI.hpp>
#include <iostream>

#include "api/cli/answers.h"
#include "api/cli/commands.h"
#include "common/base/encoding.h"

namespace tidemark::cli {
namespace {

using nlohmann::json;

void print_group(const json& group) {
  TextTable table({"group", ">jobs", ">queued", ">running", ">succeeded", ">poisoned", ">cancelled", "ended"});
  const auto states = group.value("states", json::object());
  table.add({cell(group, "id"), cell(group, "members"), cell(states, "queued"), cell(states, "running"),
             cell(states, "succeeded"), cell(states, "poisoned"), cell(states, "cancelled"),
             time_cell(group, "finishedAt")});
  table.print(std::cout);
}

}  // namespace

void add_group_commands(CLI::App& app, const GlobalOptions& options, Run& run) {
  auto* groups = app.add_subcommand("group", "jobs that were submitted as one")->require_subcommand(1);
  auto* showing = groups->add_subcommand("show", "how many of its jobs are in which state");
  auto group = std::make_shared<std::string>();
  showing->add_option("id", *group, "the group's id")->required();
  showing->callback([&run, &options, group] {
    run = [&options, group] {
      return call_and_print(options, "GET", "/v1/groups/" + percent_encode(*group), {}, print_group);
    };
  });
}

}  // namespace tidemark::cli
