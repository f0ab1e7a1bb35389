#include <CLI/CLI.hpp>
#include <iomanip>
#include <iostream>

#include "api/cli/api_client.h"
#include "api/cli/commands.h"
#include "common/base/encoding.h"

namespace tidemark::cli {
namespace {

using nlohmann::json;

struct Column {
  const char* title;
  const char* member;
};
constexpr Column kCounts[] = {{"ready", "ready"},
                              {"delayed", "delayed"},
                              {"in flight", "inFlight"},
                              {"waiting", "waiting"},
                              {"poison", "poison"}};
constexpr Column kMeasures[] = {{"oldest s", "oldestAgeSeconds"}, {"in/s", "inPerSecond"}, {"out/s", "outPerSecond"}};
constexpr int kColumnWidth = 11;

std::string measure(const json& queue, const char* member) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(1) << queue.value(member, 0.0);
  return text.str();
}

/// One line a queue, under the titles.
void print_table(const json& queues) {
  std::size_t longest = std::string_view("queue").size();
  for (const auto& queue : queues) longest = std::max(longest, queue.value("name", "").size());
  const auto width = static_cast<int>(longest);
  std::cout << std::left << std::setw(width) << "queue" << std::right;
  for (const auto& column : kCounts) std::cout << std::setw(kColumnWidth) << column.title;
  for (const auto& column : kMeasures) std::cout << std::setw(kColumnWidth) << column.title;
  std::cout << "\n";
  for (const auto& queue : queues) {
    std::cout << std::left << std::setw(width) << queue.value("name", "") << std::right;
    for (const auto& column : kCounts) std::cout << std::setw(kColumnWidth) << queue.value(column.member, 0ULL);
    for (const auto& column : kMeasures) std::cout << std::setw(kColumnWidth) << measure(queue, column.member);
    std::cout << (queue.value("paused", false) ? "  paused" : "") << "\n";
  }
}

/// All pages, as one document of the form of a page.
Result<json> all_queues(ApiClient& api) {
  auto all = json::array();
  std::string continuation;
  do {
    auto page = api.call("GET", "/v1/queues?limit=1000&continuation=" + percent_encode(continuation));
    if (!page) return fail(std::move(page.error()));
    for (auto& queue : (*page)["queues"]) all.push_back(std::move(queue));
    continuation = page->value("continuation", "");
  } while (!continuation.empty());
  return json{{"queues", std::move(all)}};
}

int list(const GlobalOptions& options) {
  auto api = ApiClient::create(options);
  if (!api) return report(options, api.error());
  auto queues = all_queues(*api);
  if (!queues) return report(options, queues.error());
  if (options.json) {
    std::cout << *queues << "\n";
  } else {
    print_table((*queues)["queues"]);
  }
  return kOk;
}

int ask_and_print(const GlobalOptions& options, const std::string& method, const std::string& path) {
  auto api = ApiClient::create(options);
  if (!api) return report(options, api.error());
  auto queue = api->call(method, path);
  if (!queue) return report(options, queue.error());
  if (options.json) {
    std::cout << *queue << "\n";
  } else {
    print_table(json::array({*queue}));
  }
  return kOk;
}

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
  listing->callback([&run, &options] { run = [&options] { return list(options); }; });
  auto name = std::make_shared<std::string>();
  for (const auto& each : kOfOneQueue) {
    auto* command = queues->add_subcommand(each.name, each.meaning);
    command->add_option("queue", *name, "the queue's name")->required();
    command->callback([&run, &options, name, each] {
      run = [&options, name, each] {
        return ask_and_print(options, each.method, "/v1/queues/" + percent_encode(*name) + each.action);
      };
    });
  }
}

}  // namespace tidemark::cli
