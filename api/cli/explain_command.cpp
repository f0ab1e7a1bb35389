#include <CLI/CLI.hpp>
#include <iostream>

#include "api/cli/answers.h"
#include "api/cli/commands.h"
#include "common/base/encoding.h"

namespace tidemark::cli {
namespace {

using nlohmann::json;

void print(const json& explanation) {
  TextTable places({"where", "", "since", "written by", "kind", "from the version of"});
  for (const auto& place : explanation.value("places", json::array())) {
    places.add({cell(place, "store") + " " + cell(place, "name"), place.value("present", false) ? "present" : "absent",
                cell(place, "timestamp"), cell(place, "job"), cell(place, "jobKind"), cell(place, "sourceTimestamp")});
  }
  places.print(std::cout);
  const auto jobs = explanation.value("jobs", json::array());
  if (!jobs.empty()) {
    std::cout << "\n";
    TextTable table({"job", "kind", "state", "table", "", "submitted"});
    for (const auto& job : jobs) {
      const auto relation = cell(job, "relation");
      const auto* meaning = relation == "wouldTake" ? "would take it"
                            : relation == "gaveUp"  ? "gave up; would take it if sent back"
                                                    : "was for this key alone";
      table.add({cell(job, "id"), cell(job, "kind"), cell(job, "state"), cell(job, "table"), meaning,
                 time_cell(job, "submittedAt")});
    }
    table.print(std::cout);
  }
  for (const auto& schedule : explanation.value("schedules", json::array())) {
    std::cout << "\nschedule " << cell(schedule, "name") << " would " << cell(schedule, "kind") << " it from "
              << cell(schedule, "table") << " at " << time_cell(schedule, "dueTime");
  }
  if (!explanation.value("schedules", json::array()).empty()) std::cout << "\n";
  const auto looked = explanation.value("looked", json::object());
  std::cout << "\nlooked at " << cell(looked, "jobs") << " jobs, " << cell(looked, "schedules") << " schedules, "
            << cell(looked, "places") << " tables"
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
