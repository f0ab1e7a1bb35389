#include <CLI/CLI.hpp>
#include <iostream>

#include "api/cli/answers.h"
#include "api/cli/commands.h"
#include "common/base/encoding.h"

namespace tidemark::cli {
namespace {

using nlohmann::json;

/// "table Employees", "container old-people/2026/"
std::string where(const json& found) {
  if (!found.contains("archive")) return "table " + cell(found, found.contains("table") ? "table" : "name");
  const auto& archive = found["archive"];
  const auto* store = archive.contains("container") ? "container" : "directory";
  return std::string(store) + " " + cell(archive, store) + "/" + cell(archive, "prefix");
}

/// Which blobs, documents and parts of archives it is about.
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

void print(const json& explanation) {
  TextTable places({"where", "PartitionKey", "RowKey", "", "since", "written by", "kind", "from the version of"});
  const auto found = explanation.value("places", json::array());
  for (const auto& place : found) {
    const bool unknown = place.contains("problem") || !place.value("mayBeIn", json::array()).empty();
    const auto* presence = place.value("present", false) ? "present" : unknown ? "unknown" : "absent";
    places.add({where(place), cell(place, "partitionKey"), cell(place, "rowKey"), presence, cell(place, "timestamp"),
                cell(place, "job"), cell(place, "jobKind"), cell(place, "sourceTimestamp")});
  }
  places.print(std::cout);
  print_objects(found);
  const auto jobs = explanation.value("jobs", json::array());
  if (!jobs.empty()) {
    std::cout << "\n";
    TextTable table({"job", "kind", "state", "where", "", "submitted"});
    for (const auto& job : jobs) {
      const auto relation = cell(job, "relation");
      const auto* meaning = relation == "wouldTake" ? "would take it"
                            : relation == "gaveUp"  ? "gave up; would take it if sent back"
                                                    : "was for this key alone";
      table.add(
          {cell(job, "id"), cell(job, "kind"), cell(job, "state"), where(job), meaning, time_cell(job, "submittedAt")});
    }
    table.print(std::cout);
  }
  for (const auto& schedule : explanation.value("schedules", json::array())) {
    std::cout << "\nschedule " << cell(schedule, "name") << " would " << cell(schedule, "kind") << " it from "
              << where(schedule) << " at " << time_cell(schedule, "dueTime");
  }
  if (!explanation.value("schedules", json::array()).empty()) std::cout << "\n";
  const auto looked = explanation.value("looked", json::object());
  std::cout << "\nlooked at " << cell(looked, "jobs") << " jobs, " << cell(looked, "schedules") << " schedules, "
            << cell(looked, "places") << " places"
            << (explanation.value("complete", true) ? "" : "; there is more that was not looked at") << "\n";
}

}  // namespace

void add_explain_command(CLI::App& app, const GlobalOptions& options, Run& run) {
  auto table = std::make_shared<std::string>(), partition = std::make_shared<std::string>(),
       row = std::make_shared<std::string>();
  auto* command = app.add_subcommand("explain", "the story of one entity: where it is, who put it there, what comes");
  command->add_option("table", *table, "the table")->required();
  command->add_option("partition-key", *partition, "its PartitionKey")->required();
  command->add_option("row-key", *row, "its RowKey")->required();
  command->callback([&run, &options, table, partition, row] {
    run = [&options, table, partition, row] {
      const auto path = "/v1/explain?table=" + percent_encode(*table) + "&partitionKey=" + percent_encode(*partition) +
                        "&rowKey=" + percent_encode(*row);
      return call_and_print(options, "GET", path, {}, print);
    };
  });
}

}  // namespace tidemark::cli
