#include <CLI/CLI.hpp>
#include <iostream>

#include "api/cli/commands.h"
#include "common/base/encoding.h"

namespace tidemark::cli {
namespace {

using nlohmann::json;

/// "table Employees", "container old-people/2026/ of account other"
std::string where(const json& found) {
  const auto account = found.contains("account") ? " of account " + cell(found, "account") : "";
  if (!found.contains("archive")) return "table " + cell(found, found.contains("table") ? "table" : "name") + account;
  const auto& archive = found["archive"];
  const auto* store = archive.contains("container") ? "container" : "directory";
  return std::string(store) + " " + cell(archive, store) + "/" + cell(archive, "prefix") + account;
}

/// Prints the blobs, documents and parts of archives that the answer names.
void print_objects(const json& places) {
  for (const auto& place : places) {
    for (const auto& blob : place.value("blobs", json::array())) {
      std::cout << cell(blob, "property") << " of it is in container " << cell(blob, "container") << ": "
                << cell(blob, "name") << (blob.value("present", false) ? "" : ", which is not there") << "\n";
    }
    for (const auto& name : place.value("objects", json::array())) {
      std::cout << "in " << where(place) << ": " << name.get<std::string>() << "\n";
    }
    for (const auto& name : place.value("mayBeIn", json::array())) {
      std::cout << "perhaps in " << where(place) << ": " << name.get<std::string>() << "\n";
    }
    if (place.contains("problem")) std::cout << where(place) << ": " << cell(place, "problem") << "\n";
  }
}

std::string presence(const json& place) {
  if (place.value("present", false)) return "present";
  const bool unknown = place.contains("problem") || !place.value("mayBeIn", json::array()).empty();
  return unknown ? "unknown" : "absent";
}

std::string relation_text(const json& relation) {
  if (relation == "wouldTake") return "would take it";
  return relation == "gaveUp" ? "gave up; would take it if sent back" : "was for this key alone";
}

void print(const json& explanation) {
  const auto places = explanation.value("places", json::array());
  table_of({{"where", "", where},
            {"PartitionKey", "/partitionKey"},
            {"RowKey", "/rowKey"},
            {"", "", presence},
            {"since", "/timestamp", time_of},
            {"written by", "/job"},
            {"kind", "/jobKind"},
            {"from the version of", "/sourceTimestamp", time_of}})(places);
  print_objects(places);
  if (const auto jobs = explanation.value("jobs", json::array()); !jobs.empty()) {
    std::cout << "\n";
    table_of({{"job", "/id"},
              {"kind", "/kind"},
              {"state", "/state"},
              {"where", "", where},
              {"", "/relation", relation_text},
              {"submitted", "/submittedAt", time_of}})(jobs);
  }
  const auto schedules = explanation.value("schedules", json::array());
  for (const auto& schedule : schedules) {
    std::cout << "\nschedule " << cell(schedule, "name") << " would " << cell(schedule, "kind") << " it from "
              << where(schedule) << " at " << time_cell(schedule, "dueTime");
  }
  const auto looked = explanation.value("looked", json::object());
  std::cout << (schedules.empty() ? "" : "\n") << "\nlooked at " << counted(looked.value("jobs", 0ULL), "job") << ", "
            << counted(looked.value("schedules", 0ULL), "schedule") << ", "
            << counted(looked.value("places", 0ULL), "place")
            << (explanation.value("complete", true) ? "" : "; there is more that was not looked at") << "\n";
}

}  // namespace

void add_explain_command(const Commands& program) {
  auto table = std::make_shared<std::string>(), partition = std::make_shared<std::string>(),
       row = std::make_shared<std::string>();
  auto& command = program.add("explain", "where an entity is, which job put it there and what would take it next",
                              [table, partition, row](const GlobalOptions& options) {
                                const auto path = "/v1/explain?table=" + percent_encode(*table) +
                                                  "&partitionKey=" + percent_encode(*partition) +
                                                  "&rowKey=" + percent_encode(*row);
                                return call_and_print(options, "GET", path, print);
                              });
  command.add_option("table", *table, "the table")->required();
  command.add_option("partition-key", *partition, "its PartitionKey")->required();
  command.add_option("row-key", *row, "its RowKey")->required();
}

}  // namespace tidemark::cli
