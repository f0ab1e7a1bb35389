#include <CLI/CLI.hpp>
#include <iostream>
#include <map>

#include "api/cli/commands.h"
#include "api/cli/paged_list.h"
#include "common/base/encoding.h"
#include "common/base/json.h"

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
    // Both parameters are sent even if they are empty, because keys may be.
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

/// Only the store knows the types, but this reports a body that is not an object, and where it breaks off.
Result<void> check_object(const std::string& body) {
  if (TRY(read_json(body)).is_object()) return {};
  return fail(ErrorCode::kInvalidInput, "an entity is a JSON object, such as {\"Name\": \"Jones\"}");
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
        TRY(check_object(body));
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
  which->declare(entities.add(
      "plan",
      "what a query by a filter reads: a point, rows, a partition or the whole table, and the index that answers it",
      [which](const GlobalOptions& options) {
        return call_and_print(options, "GET", which->path("/plan"), [](const json& plan) {
          static const std::map<std::string, const char*> kMeanings{
              {"point", ": only the entities whose keys are given are read"},
              {"rows", ": some rows of a partition are read"},
              {"partition", ": the whole partition is read"},
              {"partitions", ": a range of partitions is read"},
              {"table", ": the whole table is read"}};
          const auto access = cell(plan, "access");
          if (plan.contains("index")) {
            std::cout << "index " << cell(plan, "index") << ": only the entities that it lists are read\n";
          } else {
            std::cout << access << (kMeanings.contains(access) ? kMeanings.at(access) : "") << "\n";
          }
        });
      }));
}

}  // namespace

void add_data_commands(const Commands& program) {
  const auto entities = program.family("entity", "look at entities and change them, through the api");
  add_list_entities(entities);
  add_show_entity(entities);
  add_put_entity(entities);
  add_delete_entity(entities);
  add_plan(entities);
}

}  // namespace tidemark::cli
