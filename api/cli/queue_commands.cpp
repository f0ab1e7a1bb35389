#include <CLI/CLI.hpp>
#include <iomanip>
#include <iostream>

#include "api/cli/answers.h"
#include "api/cli/commands.h"
#include "common/base/encoding.h"

namespace tidemark::cli {
namespace {

using nlohmann::json;

std::string measure(const json& queue, const char* member) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(1) << queue.value(member, 0.0);
  return text.str();
}

void print_table(const json& queues) {
  TextTable table(
      {"queue", ">ready", ">delayed", ">in flight", ">waiting", ">poison", ">oldest s", ">in/s", ">out/s", "state"});
  for (const auto& queue : queues) {
    table.add({cell(queue, "name"), cell(queue, "ready"), cell(queue, "delayed"), cell(queue, "inFlight"),
               cell(queue, "waiting"), cell(queue, "poison"), measure(queue, "oldestAgeSeconds"),
               measure(queue, "inPerSecond"), measure(queue, "outPerSecond"),
               queue.value("paused", false) ? "paused" : ""});
  }
  table.print(std::cout);
}

void print_one(const json& queue) { print_table(json::array({queue})); }

struct QueueCommand {
  const char* name;
  const char* meaning;
  const char* method;
  const char* action;  // the end of the path
};
constexpr QueueCommand kOfOneQueue[] = {
    {"show", "one queue's figures", "GET", ""},
    {"pause", "the queue gives out nothing; all else works", "POST", "/pause"},
    {"resume", "the queue gives out messages again", "POST", "/resume"},
};

}  // namespace

void add_queue_commands(CLI::App& app, const GlobalOptions& options, Run& run) {
  auto* queues = app.add_subcommand("queue", "watch, pause and resume queues")->require_subcommand(1);
  auto* listing = queues->add_subcommand("list", "all queues and their figures");
  listing->callback([&run, &options] {
    run = [&options] { return list_and_print(options, "/v1/queues", "queues", 0, print_table); };
  });
  auto name = std::make_shared<std::string>();
  for (const auto& each : kOfOneQueue) {
    auto* command = queues->add_subcommand(each.name, each.meaning);
    command->add_option("queue", *name, "the queue's name")->required();
    command->callback([&run, &options, name, each] {
      run = [&options, name, each] {
        return call_and_print(options, each.method, "/v1/queues/" + percent_encode(*name) + each.action, {}, print_one);
      };
    });
  }
}

}  // namespace tidemark::cli
