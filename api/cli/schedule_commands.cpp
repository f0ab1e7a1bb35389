#include <CLI/CLI.hpp>
#include <iostream>

#include "api/cli/commands.h"
#include "api/cli/job_options.h"
#include "api/cli/numbers.h"
#include "api/cli/paged_list.h"

namespace tidemark::cli {
namespace {

using nlohmann::json;

std::string last_state(const json& run) { return run.contains("problem") ? "refused" : cell(run, "jobState"); }

Print schedule_table() {
  return table_of({{"schedule", "/name"},
                   {"state", "/paused", activity},
                   {"cron", "/cron"},
                   {"zone", "/timeZone"},
                   {"kind", "/job/kind"},
                   {"next", "/nextRun", time_of},
                   {"last due", "/lastRun/dueTime", time_of},
                   {"last job", "/lastRun/job"},
                   {"its state", "/lastRun", last_state},
                   {">runs", "/runs"},
                   {">skipped", "/skipped"},
                   {">missed", "/missed"}},
                  "no schedules");
}

void print_schedule(const json& schedule) {
  schedule_table()(schedule);
  std::cout << "job: " << schedule.value("job", json()).dump() << "\ncatch up: " << cell(schedule, "catchUp")
            << ", overlap: " << cell(schedule, "overlap");
  if (schedule.contains("maxLateSeconds")) std::cout << ", at most " << schedule["maxLateSeconds"] << " s late";
  std::cout << "\n";
  const auto last = schedule.value("lastRun", json::object());
  if (last.contains("problem")) std::cout << "last problem: " << cell(last, "problem") << "\n";
}

struct ScheduleArguments {
  std::string name, file, cron, zone, catch_up, overlap, start_after, if_match;
  std::int64_t max_late_s = 0;
  bool create = false;
  JobArguments job;
};

bool describes_schedule(const ScheduleArguments& a) {
  const bool times = !a.cron.empty() || !a.zone.empty() || !a.start_after.empty() || a.max_late_s > 0;
  return times || !a.catch_up.empty() || !a.overlap.empty();
}

Result<std::string> schedule_definition(const ScheduleArguments& a) {
  if (!a.file.empty()) return read_file(a.file);
  json out{{"cron", a.cron}, {"job", TRY(job_of(a.job))}};
  for (const auto& [name, value] : {std::pair<const char*, const std::string&>("timeZone", a.zone),
                                    std::pair<const char*, const std::string&>("catchUp", a.catch_up),
                                    std::pair<const char*, const std::string&>("overlap", a.overlap),
                                    std::pair<const char*, const std::string&>("startAfter", a.start_after)}) {
    if (!value.empty()) out[name] = value;
  }
  if (a.max_late_s > 0) out["maxLateSeconds"] = a.max_late_s;
  return out.dump();
}

Result<int> put(const GlobalOptions& options, const ScheduleArguments& a) {
  if (!a.file.empty() && (describes_schedule(a) || describes_job(a.job))) {
    return wrong_arguments(options, "--file has all of the schedule: no other option can say what it is");
  }
  HttpHeaders headers;
  if (a.create) headers.emplace_back("If-None-Match", "*");
  if (!a.if_match.empty()) headers.emplace_back("If-Match", a.if_match);
  return call_and_print(options, "PUT", item_path("schedules", a.name), print_schedule, TRY(schedule_definition(a)),
                        headers);
}

void add_put_schedule(const Commands& schedules) {
  auto arguments = std::make_shared<ScheduleArguments>();
  auto& putting = schedules.add("put", "create or replace a schedule; the job as in `job submit`",
                                [arguments](const GlobalOptions& options) { return put(options, *arguments); });
  putting.add_option("name", arguments->name, "the schedule's name")->required();
  putting.add_option("--file", arguments->file, "the whole schedule as JSON from a file, - for standard input");
  putting.add_option("--cron", arguments->cron,
                     "minute hour day-of-month month day-of-week, or @hourly @daily @weekly @monthly @yearly");
  putting.add_option("--time-zone", arguments->zone, "such as Europe/Berlin; UTC if absent");
  putting
      .add_option("--catch-up", arguments->catch_up,
                  "times to make up for when no worker was running; all needs --overlap allow or wait")
      ->check(CLI::IsMember({"none", "last", "all"}));
  putting.add_option("--overlap", arguments->overlap, "if the previous job still runs")
      ->check(CLI::IsMember({"skip", "allow", "wait", "cancel"}));
  putting.add_option("--max-late-s", arguments->max_late_s, "a due time that is later than this is missed")
      ->check(positive_number());
  accept_local_time(
      *putting.add_option("--start-after", arguments->start_after, "count only times after this; default: now"));
  putting.add_flag("--create", arguments->create, "refuse to replace an existing schedule");
  putting.add_option("--if-match", arguments->if_match, "refuse unless the schedule has this ETag");
  add_job_options(putting, arguments->job);
  for (const auto* refused : {"--idempotency-key", "--not-before"}) putting.remove_option(putting.get_option(refused));
  putting.footer(
      "In --filter, --source, --destination, --moved-after and --moved-before, moments such as {now} {now-60d}\n"
      "{now-12h} {today} {today-7d} {today-1d:yyyyMMdd} are filled in when the job is due, as in\n"
      "  tidemark schedule put nightly archive --cron '0 3 * * *' --time-zone Europe/Berlin \\\n"
      "    --source Employees --destination Former --filter \"LeftDate lt datetime'{now-60d}'\"\n" +
      putting.get_footer());
}

void add_run(const Commands& schedules) {
  auto name = std::make_shared<std::string>(), due = std::make_shared<std::string>();
  auto& running =
      schedules.add("run", "submit the job at once; prints its id", [name, due](const GlobalOptions& options) {
        const auto body = due->empty() ? std::string() : json{{"dueTime", *due}}.dump();
        return call_and_print(
            options, "POST", item_path("schedules", *name, "/run"),
            [](const json& job) { std::cout << cell(job, "id") << "\n"; }, body);
      });
  running.add_option("name", *name, "the schedule's name")->required();
  accept_local_time(*running.add_option("--due", *due, "as if it were this time; the same time gives the same job"));
}

}  // namespace

void add_schedule_commands(const Commands& program) {
  const auto schedules = program.family("schedule", "submit a job at regular times");
  add_put_schedule(schedules);
  schedules.add("list", "all schedules", [](const GlobalOptions& options) {
    return list_and_print(options, "/v1/schedules", "schedules", kWhole, schedule_table());
  });
  add_run(schedules);
  schedules.add_for_one("schedules", "name", "the schedule's name",
                        {{"show", "a schedule with its next and last run", "GET", "", print_schedule},
                         {"pause", "stop submitting jobs", "POST", "/pause", print_schedule},
                         {"resume", "submit jobs again from now on; times during the pause are not caught up", "POST",
                          "/resume", print_schedule},
                         {"delete", "remove a schedule; its jobs stay", "DELETE", "", said("deleted")}});
}

}  // namespace tidemark::cli
