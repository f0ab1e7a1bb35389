#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "api/cli/commands.h"
#include "api/cli/paged_list.h"
#include "common/base/encoding.h"

namespace tidemark::cli {
namespace {

using nlohmann::json;

void print_entity(const json& entity) { std::cout << entity.dump(2) << "\n"; }

void print_entities(const json& page) {
  for (const auto& entity : page) print_entity(entity);
  if (page.empty()) std::cout << "no entities\n";
}

struct Keys {
  std::string table, partition_key, row_key;

  void declare(CLI::App& command) {
    command.add_option("table", table, "the table")->required();
    command.add_option("partition-key", partition_key, "PartitionKey")->required();
    command.add_option("row-key", row_key, "RowKey")->required();
  }
  [[nodiscard]] std::string path() const {
    // Both are there even if they are empty, as keys may be.
    return item_path("tables", table, "/entity") + "?partitionKey=" + percent_encode(partition_key) +
           "&rowKey=" + percent_encode(row_key);
  }
};

void add_show_entity(const Commands& entities) {
  auto keys = std::make_shared<Keys>();
  keys->declare(entities.add("show", "one entity, with its types", [keys](const GlobalOptions& options) {
    return call_and_print(options, "GET", keys->path(), print_entity);
  }));
}

void add_put_entity(const Commands& entities) {
  struct Arguments {
    Keys keys;
    std::string file = "-", if_match;
  };
  auto a = std::make_shared<Arguments>();
  auto& putting =
      entities.add("put", "replace an entity, or make a new one", [a](const GlobalOptions& options) -> Result<int> {
        const auto body = TRY(read_file(a->file));
        const HttpHeaders condition{a->if_match.empty() ? std::pair<std::string, std::string>("If-None-Match", "*")
                                                        : std::pair<std::string, std::string>("If-Match", a->if_match)};
        return call_and_print(options, "PUT", a->keys.path(), print_entity, body, condition);
      });
  a->keys.declare(putting);
  putting.add_option("--file", a->file, "its properties as JSON; - for standard input")->capture_default_str();
  putting.add_option("--if-match", a->if_match,
                     "the ETag that it must have, or * for any; without it, the entity must not be there");
}

void add_delete_entity(const Commands& entities) {
  struct Arguments {
    Keys keys;
    std::string if_match;
  };
  auto a = std::make_shared<Arguments>();
  auto& deleting = entities.add("delete", "delete an entity", [a](const GlobalOptions& options) {
    return call_and_print(options, "DELETE", a->keys.path(), said("deleted"), {}, {{"If-Match", a->if_match}});
  });
  a->keys.declare(deleting);
  deleting.add_option("--if-match", a->if_match, "the ETag that it must have, or * for any")->required();
}

struct WhichEntities {
  std::string table, filter;
  Extent wanted;

  void declare(CLI::App& command) {
    command.add_option("table", table, "the table")->required();
    command.add_option("--filter", filter, "OData filter; without it, all");
  }
  [[nodiscard]] std::string path(const char* ending) const {
    return item_path("tables", table, ending) + query_of({{"filter", filter}});
  }
};

void add_list_entities(const Commands& entities) {
  auto which = std::make_shared<WhichEntities>();
  auto& listing =
      entities.add("list", "entities that a filter finds, through the api", [which](const GlobalOptions& options) {
        return list_and_print(options, which->path("/entities"), "entities", which->wanted, print_entities);
      });
  which->declare(listing);
  which->wanted.declare(listing);
}

void add_plan(const Commands& entities) {
  auto which = std::make_shared<WhichEntities>();
  which->declare(entities.add("plan", "what a query by a filter reads: a point, rows, a partition or the whole table",
                              [which](const GlobalOptions& options) {
                                return call_and_print(options, "GET", which->path("/plan"), [](const json& plan) {
                                  std::cout << cell(plan, "access") << "\n";
                                });
                              }));
}

std::string whole(const json& number) { return number.is_number() ? std::to_string(number.get<std::int64_t>()) : ""; }

std::string seconds_of(const json& item, const char* member) { return whole(item.value(member, json(0))) + " s"; }

/// A line for each thing that somebody should look at.
void print_remarkable(const json& seen) {
  for (const auto& queue : seen.value("queues", json::array())) {
    std::string said;
    const auto poison = queue.value("poison", 0);
    if (poison > 0) said += ", " + cell(queue, "poison") + (poison == 1 ? " poison message" : " poison messages");
    if (queue.value("paused", false)) said += ", paused";
    const bool waits = queue.value("ready", 0) > 0;
    if (waits) said += ", the next of " + cell(queue, "ready") + " has waited " + seconds_of(queue, "oldestAgeSeconds");
    std::cout << "queue " << cell(queue, "name") << ":" << (said.empty() ? said : said.substr(1)) << "\n";
  }
  if (seen.value("untold", 0) > 0) std::cout << "and " << cell(seen, "untold") << " more queues\n";
  for (const auto& reader : seen.value("readers", json::array())) {
    std::cout << (cell(reader, "what") == "onChange" ? "on-change " : "consumer ") << cell(reader, "name")
              << " of table " << cell(reader, "table") << ": "
              << (reader.value("stopped", false)       ? "has stopped"
                  : reader.value("lostChanges", false) ? "has lost changes"
                                                       : seconds_of(reader, "seconds") + " behind")
              << "\n";
  }
}

/// What is wrong first.
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

void print_overview(const json& answer) {
  if (answer.contains("notServing")) std::cout << "not serving: " << cell(answer, "notServing") << "\n";
  print_disks(answer.value("disks", json::array()));
  for (const auto& warning : answer.value("warnings", json::array())) std::cout << cell(warning, "message") << "\n";
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

}  // namespace

void add_data_commands(const Commands& program) {
  const auto entities = program.family("entity", "look at entities and change them, through the api");
  add_list_entities(entities);
  add_show_entity(entities);
  add_put_entity(entities);
  add_delete_entity(entities);
  add_plan(entities);
  program.add(
      "overview", "what somebody should look at, and the last hour in figures, every ten seconds, newest first",
      [](const GlobalOptions& options) { return call_and_print(options, "GET", "/v1/overview", print_overview); });
}

}  // namespace tidemark::cli
