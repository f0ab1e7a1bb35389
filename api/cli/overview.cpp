// A summary of the things that need attention, and figures for the last hour.
#include <CLI/CLI.hpp>

#include <algorithm>
#include <iostream>

#include "api/cli/commands.h"

namespace tidemark::cli {
namespace {

using nlohmann::json;

constexpr double kLongLagS = 60;
constexpr const char* kPoisonQueue = "tidemark-jobs-poison";

std::string whole(const json& number) { return number.is_number() ? std::to_string(number.get<std::int64_t>()) : ""; }

std::string seconds_of(const json& item, const char* member) { return whole(item.value(member, json(0))) + " s"; }

/// Prints a line for each thing that needs attention.
void print_remarkable(const json& seen) {
  for (const auto& queue : seen.value("queues", json::array())) {
    std::string said;
    const auto poison = queue.value("poison", 0ULL);
    if (poison > 0) said += ", " + counted(poison, "poison message");
    if (queue.value("paused", false)) said += ", paused";
    const bool waits = queue.value("ready", 0) > 0;
    if (waits) said += ", the next of " + cell(queue, "ready") + " has waited " + seconds_of(queue, "oldestAgeSeconds");
    std::cout << "queue " << cell(queue, "name") << ":" << (said.empty() ? said : said.substr(1)) << "\n";
  }
  if (const auto untold = seen.value("untold", 0ULL); untold > 0) {
    std::cout << "and " << counted(untold, "more queue") << "\n";
  }
  for (const auto& reader : seen.value("readers", json::array())) {
    std::cout << (cell(reader, "what") == "onChange" ? "on-change " : "consumer ") << cell(reader, "name")
              << " of table " << cell(reader, "table") << ": "
              << (reader.value("feedEnded", false)     ? "the feed has ended"
                  : reader.value("stopped", false)     ? "has stopped: " + cell(reader, "error")
                  : reader.value("lostChanges", false) ? "has lost changes"
                                                       : seconds_of(reader, "seconds") + " behind")
              << "\n";
  }
}

/// Prints the disks, those with problems first.
void print_disks(const json& disks) {
  for (const auto& disk : disks) {
    if (disk.value("low", false)) std::cout << cell(disk, "message") << "\n";
  }
  for (const auto& disk : disks) {
    std::string stores;
    for (const auto& store : disk.value("stores", json::array()))
      stores += (stores.empty() ? "" : ", ") + text_of(store);
    std::cout << "disk of " << stores << ": " << readable_bytes(disk.value("freeBytes", std::uint64_t{0})) << " of "
              << readable_bytes(disk.value("totalBytes", std::uint64_t{0})) << " free\n";
  }
}

/// Things that the api reports one by one.
struct Things {
  json workers, indexes, kinds;
  std::string trouble;  // why they are unknown
};

Result<void> ask_for(ApiClient& api, Things& things) {
  things.workers = TRY(api.call("GET", "/v1/workers?limit=1000")).value("workers", json::array());
  things.indexes = TRY(api.call("GET", "/v1/indexes")).value("indexes", json::array());
  things.kinds = TRY(api.call("GET", "/v1/kinds")).value("kinds", json::array());
  return {};
}

void print_poisoned_jobs(const json& queues) {
  for (const auto& queue : queues) {
    const auto poisoned = queue.value("messages", 0ULL);
    if (cell(queue, "name") != kPoisonQueue || poisoned == 0) continue;
    std::cout << counted(poisoned, "job") << (poisoned == 1 ? " is" : " are") << " poisoned: tidemark poison groups\n";
  }
}

void print_workers(const json& workers, const json& queues) {
  std::uint64_t waiting = 0;
  for (const auto& queue : queues) {
    if (cell(queue, "name") != kPoisonQueue) waiting += queue.value("ready", 0ULL);
  }
  const auto lives = [](const json& worker) { return worker.value("alive", false); };
  if (std::ranges::none_of(workers, lives)) {
    std::cout << "no worker lives";
    if (waiting > 0) std::cout << ", and " << counted(waiting, "job") << (waiting == 1 ? " waits" : " wait");
    std::cout << "\n";
  }
  for (const auto& worker : workers) {
    if (lives(worker)) continue;
    std::cout << "worker " << cell(worker, "name") << " on " << cell(worker, "host") << " is lost; last heard of at "
              << time_cell(worker, "heartbeatAt") << "\n";
  }
}

std::vector<std::string> troubles_of(const json& index) {
  std::vector<std::string> troubles;
  if (index.value("state", "") == "stale") troubles.emplace_back("is stale: its rows no longer follow the table");
  if (const auto last = index.value("lastError", json::object()); last.value("inARow", 0ULL) > 0) {
    troubles.push_back("has failed: " + cell(last, "message"));
  }
  const auto in_the_way = index.value("inTheWay", json::object());
  if (in_the_way.value("rows", 0ULL) > 0) troubles.push_back("lacks rows: " + taken_keys(in_the_way));
  const auto lag = index.value("lag", json::object()).value("seconds", 0.0);
  if (lag > kLongLagS) troubles.push_back("is " + readable_duration(lag) + " behind");
  if (index.value("paused", false)) troubles.emplace_back("is paused");
  return troubles;
}

void print_things(const json& queues, const Things& things) {
  print_poisoned_jobs(queues);
  if (!things.trouble.empty()) {
    std::cout << "workers, indexes and kinds of jobs are not known: " << things.trouble << "\n";
    return;
  }
  print_workers(things.workers, queues);
  for (const auto& index : things.indexes) {
    for (const auto& trouble : troubles_of(index)) {
      std::cout << "index " << cell(index, "name") << " " << trouble << "\n";
    }
  }
  for (const auto& kind : things.kinds) {
    if (kind.value("paused", false)) std::cout << "jobs of kind " << cell(kind, "kind") << " are paused\n";
  }
}

void print_overview(const json& answer, const Things& things) {
  if (answer.contains("notServing")) std::cout << "not serving: " << cell(answer, "notServing") << "\n";
  for (const auto& store : answer.value("notAnswering", json::array())) {
    std::cout << "the " << text_of(store) << " store does not answer\n";
  }
  print_disks(answer.value("disks", json::array()));
  for (const auto& warning : answer.value("warnings", json::array())) std::cout << cell(warning, "message") << "\n";
  print_things(answer.value("queuesOfJobs", json::array()), things);
  print_remarkable(answer.value("remarkable", json::object()));
  static const auto kPoints =
      table_of({{"at", "/at", time_of},
                {">ready", "/ready"},
                {">in flight", "/inFlight"},
                {">poison", "/poison"},
                {">in/s", "/inPerSecond", whole},
                {">out/s", "/outPerSecond", whole},
                {">oldest s", "/oldestSeconds", whole},
                {">requests", "/requests"},
                {">refused", "/refused"}},
               "nothing is known yet: the first figures come ten seconds after the api's start");
  auto points = answer.value("points", json::array());
  std::reverse(points.begin(), points.end());
  kPoints(points);
}

/// Leaves the figures of the last minutes.
void keep_last(json& overview, std::uint64_t minutes) {
  const auto points = overview.find("points");
  if (points == overview.end()) return;
  const auto step = std::max<std::uint64_t>(1, overview.value("stepSeconds", std::uint64_t{10}));
  const auto most = static_cast<std::size_t>(minutes * 60 / step);
  if (points->size() > most) points->erase(points->begin(), points->end() - static_cast<std::ptrdiff_t>(most));
}

Result<int> show_overview(const GlobalOptions& options, std::uint64_t minutes) {
  auto api = TRY(ApiClient::create(options));
  auto answer = TRY(api.call("GET", "/v1/overview"));
  Things things;
  if (!options.json) {
    if (auto asked = ask_for(api, things); !asked) things.trouble = asked.error().message;
  }
  if (!options.json) keep_last(answer, minutes);
  print_answer(options, answer, [&things](const json& overview) { print_overview(overview, things); });
  return kOk;
}

}  // namespace

void add_overview_command(const Commands& program) {
  auto minutes = std::make_shared<std::uint64_t>(10);
  program
      .add("overview", "what needs attention, and figures for the last minutes in ten-second steps, newest first",
           [minutes](const GlobalOptions& options) { return show_overview(options, *minutes); })
      .add_option("--minutes", *minutes, "figures for so many minutes; an hour is kept")
      ->check(CLI::Range(1, 60))
      ->capture_default_str();
}

}  // namespace tidemark::cli
