#include <CLI/CLI.hpp>
#include <iostream>

#include "api/cli/answers.h"
#include "api/cli/commands.h"
#include "api/cli/job_options.h"
#include "common/base/encoding.h"

namespace tidemark::cli {
namespace {

using nlohmann::json;

void print_list(const json& schedules) {
  TextTable table({"schedule", "state", "cron", "zone", "kind", "next", "last due", "last job", "its state", ">runs",
                   ">skipped", ">missed"});
  for (const auto& schedule : schedules) {
    const auto last = schedule.value("lastRun", json::object());
    table.add({cell(schedule, "name"), schedule.value("paused", false) ? "paused" : "active", cell(schedule, "cron"),
               cell(schedule, "timeZone"), cell(schedule.value("job", json::object()), "kind"),
               time_cell(schedule, "nextRun"), time_cell(last, "dueTime"), cell(last, "job"),
               last.contains("problem") ? "refused" : cell(last, "jobState"), cell(schedule, "runs"),
               cell(schedule, "skipped"), cell(schedule, "missed")});
  }
  table.print(std::cout);
}

void print_details(const json& schedule) {
  print_list(json::array({schedule}));
  std::cout << "job: " << schedule.value("job", json()).dump() << "\ncatch up: " << cell(schedule, "catchUp")
            << ", overlap: " << cell(schedule, "overlap");
  if (schedule.contains("maxLateSeconds")) std::cout << ", at most " << schedule["maxLateSeconds"] << " s late";
  std::cout << "\n";
  const auto last = schedule.value("lastRun", json::object());
  if (last.contains("problem")) std::cout << "last problem: " << cell(last, "problem") << "\n";
}

struct PutArguments {
  std::string name, file, cron, zone, catch_up, overlap, start_after, if_match;
  std::int64_t max_late_s = 0;
  bool create = false;
  JobArguments job;
};

Result<std::string> definition(const PutArguments& a) {
  if (!a.file.empty()) return read_file(a.file);
  json out{{"cron", a.cron}, {"job", job_of(a.job)}};
  for (const auto& [name, value] : {std::pair<const char*, const std::string&>("timeZone", a.zone),
                                    std::pair<const char*, const std::string&>("catchUp", a.catch_up),
                                    std::pair<const char*, const std::string&>("overlap", a.overlap),
                                    std::pair<const char*, const std::string&>("startAfter", a.start_after)}) {
    if (!value.empty()) out[name] = value;
  }
  if (a.max_late_s > 0) out["maxLateSeconds"] = a.max_late_s;
  return out.dump();
}

int put(const GlobalOptions& options, const PutArguments& a) {
  const auto body = definition(a);
  if (!body) return report(options, body.error());
  HttpHeaders headers;
  if (a.create) headers.emplace_back("If-None-Match", "*");
  if (!a.if_match.empty()) headers.emplace_back("If-Match", a.if_match);
  return call_and_print(options, "PUT", "/v1/schedules/" + percent_encode(a.name), *body, print_details, headers);
}

void add_put(CLI::App& schedules, const GlobalOptions& options, Run& run) {
  auto arguments = std::make_shared<PutArguments>();
  auto* putting = schedules.add_subcommand("put", "create or replace a schedule; the job as in `job submit`");
  putting->add_option("name", arguments->name, "the schedule's name")->required();
  putting->add_option("--file", arguments->file, "the whole schedule as JSON from a file, - for standard input");
  putting->add_option("--cron", arguments->cron,
                      "minute hour day-of-month month day-of-week, or @hourly @daily @weekly @monthly @yearly");
  putting->add_option("--time-zone", arguments->zone, "such as Europe/Berlin; UTC if absent");
  putting
      ->add_option("--catch-up", arguments->catch_up,
                   "which of the times that passed while no worker ran: none, last or all")
      ->check(CLI::IsMember({"none", "last", "all"}));
  putting->add_option("--overlap", arguments->overlap, "while the job before runs: skip, allow, wait or cancel")
      ->check(CLI::IsMember({"skip", "allow", "wait", "cancel"}));
  putting->add_option("--max-late-s", arguments->max_late_s, "a time that is later than this is missed")
      ->check(positive_number());
  accept_local_time(
      *putting->add_option("--start-after", arguments->start_after, "only times after this count; now if absent"));
  putting->add_flag("--create", arguments->create, "refuse to replace one");
  putting->add_option("--if-match", arguments->if_match, "refuse unless the schedule has this ETag");
  add_job_options(*putting, arguments->job);
  putting->footer(
      "In --filter, {now} {now-60d} {now-12h} {today} {today-7d} are filled in when the job is due, as in\n"
      "  tidemark schedule put nightly archive --cron '0 3 * * *' --time-zone Europe/Berlin \\\n"
      "    --source Employees --destination Former --filter \"LeftDate lt datetime'{now-60d}'\"");
  putting->callback([&run, &options, arguments] { run = [&options, arguments] { return put(options, *arguments); }; });
}

struct ScheduleCommand {
  const char* name;
  const char* meaning;
  const char* method;
  const char* action;  // the end of the path
};
constexpr ScheduleCommand kOfOneSchedule[] = {
    {"show", "a schedule with its next and last run", "GET", ""},
    {"pause", "nothing becomes due", "POST", "/pause"},
    {"resume", "it goes on from now; what was due during the pause is not caught up", "POST", "/resume"},
};

}  // namespace

void add_schedule_commands(CLI::App& app, const GlobalOptions& options, Run& run) {
  auto* schedules = app.add_subcommand("schedule", "submit a job again and again")->require_subcommand(1);
  add_put(*schedules, options, run);
  auto* listing = schedules->add_subcommand("list", "all schedules");
  listing->callback([&run, &options] {
    run = [&options] { return list_and_print(options, "/v1/schedules", "schedules", 0, print_list); };
  });
  auto name = std::make_shared<std::string>();
  for (const auto& each : kOfOneSchedule) {
    auto* command = schedules->add_subcommand(each.name, each.meaning);
    command->add_option("name", *name, "the schedule's name")->required();
    command->callback([&run, &options, name, each] {
      run = [&options, name, each] {
        const auto path = "/v1/schedules/" + percent_encode(*name) + each.action;
        return call_and_print(options, each.method, path, {}, print_details);
      };
    });
  }
  auto due = std::make_shared<std::string>();
  auto* running = schedules->add_subcommand("run", "submit the job at once; prints its id");
  running->add_option("name", *name, "the schedule's name")->required();
  running->add_option("--due", *due, "as if it were this time; the same time again gives the same job");
  running->callback([&run, &options, name, due] {
    run = [&options, name, due] {
      const auto body = due->empty() ? std::string() : json{{"dueTime", *due}}.dump();
      return call_and_print(options, "POST", "/v1/schedules/" + percent_encode(*name) + "/run", body,
                            [](const json& job) { std::cout << cell(job, "id") << "\n"; });
    };
  });
  auto* removing = schedules->add_subcommand("delete", "remove a schedule; its jobs stay");
  removing->add_option("name", *name, "the schedule's name")->required();
  removing->callback([&run, &options, name] {
    run = [&options, name] {
      return call_and_print(options, "DELETE", "/v1/schedules/" + percent_encode(*name), {},
                            [](const json&) { std::cout << "deleted\n"; });
    };
  });
}

}  // namespace tidemark::cli
