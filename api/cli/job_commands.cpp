#include <CLI/CLI.hpp>
#include <iostream>
#include <sstream>

#include "api/cli/answers.h"
#include "api/cli/commands.h"
#include "api/cli/job_options.h"
#include "api/cli/job_watch.h"
#include "api/cli/print_plan.h"
#include "common/base/encoding.h"

namespace tidemark::cli {
namespace {

using nlohmann::json;

struct SubmitArguments {
  std::string file, group;
  JobArguments job;
  bool wait = false, dry_run = false, batch = false;
};

Result<std::string> specification(const SubmitArguments& a) {
  if (!a.file.empty()) return read_file(a.file);
  return job_of(a.job).dump();
}

/// Many jobs, and what is said of all of them: group and onEnd.
struct JobFile {
  std::vector<json> jobs;
  json common = json::object();
};

/// {"jobs":[...],"group"?,"onEnd"?}, a JSON array, or one job a line.
Result<JobFile> jobs_of(const std::string& text) {
  JobFile file;
  auto whole = json::parse(text, nullptr, false);
  if (whole.is_object() && whole.contains("jobs")) {
    file.common = whole;
    file.common.erase("jobs");
    whole = json(whole["jobs"]);
  }
  if (whole.is_array()) {
    for (auto& job : whole) file.jobs.push_back(std::move(job));
    return file;
  }
  std::istringstream lines(text);
  std::string line;
  for (std::size_t number = 1; std::getline(lines, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    file.jobs.push_back(json::parse(line, nullptr, false));
    if (file.jobs.back().is_discarded()) {
      return fail(ErrorCode::kInvalidInput, "line " + std::to_string(number) + " is not JSON");
    }
  }
  return file;
}

/// As many as the api takes at once, again and again; a group in one request.
int submit_batch(const GlobalOptions& options, ApiClient& api, const std::string& text, const std::string& group) {
  auto file = jobs_of(text);
  if (!file) return report(options, file.error());
  if (!group.empty()) file->common["group"] = group;
  const auto& jobs = file->jobs;
  const std::size_t at_once = file->common.empty() ? 1000 : std::max<std::size_t>(1, jobs.size());
  auto results = json::array();
  int code = kOk;
  for (std::size_t begin = 0; begin < jobs.size(); begin += at_once) {
    const auto end = std::min(jobs.size(), begin + at_once);
    auto body = file->common;
    body["jobs"] = std::vector<json>(jobs.begin() + static_cast<std::ptrdiff_t>(begin),
                                     jobs.begin() + static_cast<std::ptrdiff_t>(end));
    auto answer = api.call("POST", "/v1/jobs/batch", body.dump());
    if (!answer) return report(options, answer.error());
    for (auto& result : (*answer)["results"]) {
      if (!result.contains("job")) code = kFailed;
      if (options.json) {
        results.push_back(std::move(result));
      } else if (result.contains("job")) {
        std::cout << cell(result["job"], "id") << "\n";
      } else {
        std::cout << "refused: " << cell(result.value("problem", json::object()), "detail") << "\n";
      }
    }
  }
  if (options.json) std::cout << json{{"results", std::move(results)}} << "\n";
  return code;
}

int submit(const GlobalOptions& options, const SubmitArguments& arguments) {
  auto api = ApiClient::create(options);
  if (!api) return report(options, api.error());
  auto spec = specification(arguments);
  if (!spec) return report(options, spec.error());
  if (arguments.batch) return submit_batch(options, *api, *spec, arguments.group);
  auto job = api->call("POST", arguments.dry_run ? "/v1/jobs?dryRun=true" : "/v1/jobs", *spec);
  if (!job) return report(options, job.error());
  if (arguments.dry_run) return print_plan(options, *job);
  if (arguments.wait) return watch_job(options, *api, job->value("id", ""));
  if (options.json) {
    std::cout << *job << "\n";
  } else {
    std::cout << job->value("id", "") << "\n";
  }
  return kOk;
}

int show(const GlobalOptions& options, const std::string& id, bool watching) {
  auto api = ApiClient::create(options);
  if (!api) return report(options, api.error());
  if (watching) return watch_job(options, *api, id);
  auto job = api->call("GET", "/v1/jobs/" + percent_encode(id));
  if (!job) return report(options, job.error());
  if (options.json) {
    std::cout << *job << "\n";
  } else {
    std::cout << job_details(*job);
  }
  return kOk;
}

void print_jobs(const json& items) {
  TextTable table({"job", "kind", "state", ">done", ">skipped", ">attempts", "submitted", "worker"});
  for (const auto& job : items) {
    const auto progress = job.value("progress", json::object());
    table.add({cell(job, "id"), cell(job, "kind"), cell(job, "state"), cell(progress, "done"),
               cell(progress, "skipped"), cell(job, "attempts"), time_cell(job, "submittedAt"), cell(job, "worker")});
  }
  table.print(std::cout);
}

struct ListArguments {
  std::size_t limit = 50;
  std::string kind, state;
};

int list(const GlobalOptions& options, const ListArguments& a) {
  std::string path = "/v1/jobs";
  if (!a.kind.empty()) path += "?kind=" + percent_encode(a.kind);
  if (!a.state.empty()) path += (a.kind.empty() ? "?state=" : "&state=") + percent_encode(a.state);
  return list_and_print(options, path, "jobs", a.limit, print_jobs);
}

}  // namespace

void add_job_commands(CLI::App& app, const GlobalOptions& options, Run& run) {
  auto* job = app.add_subcommand("job", "submit jobs and follow them")->require_subcommand(1);

  auto arguments = std::make_shared<SubmitArguments>();
  auto* submitting = job->add_subcommand("submit", "submit a job; prints its id");
  submitting->add_option("--file", arguments->file, "the whole job as JSON from a file, - for standard input");
  submitting->add_flag("--batch", arguments->batch,
                       "the file holds many jobs: a JSON array, {\"jobs\":[...]}, or one a line");
  submitting->add_option("--group", arguments->group, "with --batch: count them together under this name");
  add_job_options(*submitting, arguments->job);
  submitting->add_flag("--dry-run", arguments->dry_run, "print what the job would do, and do nothing");
  submitting->add_flag("--wait", arguments->wait, "wait for the end, with a progress bar");
  submitting->callback(
      [&run, &options, arguments] { run = [&options, arguments] { return submit(options, *arguments); }; });

  auto id = std::make_shared<std::string>();
  auto watching = std::make_shared<bool>(false);
  auto* showing = job->add_subcommand("show", "show a job with its history");
  showing->add_option("id", *id, "the job's id")->required();
  showing->add_flag("--watch", *watching, "follow it to its end with a progress bar");
  showing->callback(
      [&run, &options, id, watching] { run = [&options, id, watching] { return show(options, *id, *watching); }; });

  auto* following = job->add_subcommand("follow", "print every change of a job until its end, a line each");
  following->add_option("id", *id, "the job's id")->required();
  following->callback([&run, &options, id] { run = [&options, id] { return follow_job(options, *id); }; });

  auto which = std::make_shared<ListArguments>();
  auto* listing = job->add_subcommand("list", "list jobs, newest first");
  listing->add_option("--limit", which->limit, "how many; 0 for all")->capture_default_str();
  listing->add_option("--kind", which->kind, "of this kind only");
  listing->add_option("--state", which->state, "in this state only")
      ->check(CLI::IsMember({"queued", "running", "succeeded", "poisoned", "cancelled"}));
  listing->callback([&run, &options, which] { run = [&options, which] { return list(options, *which); }; });

  auto* cancelling = job->add_subcommand("cancel", "end a job; a worker on it stops within a page");
  cancelling->add_option("id", *id, "the job's id")->required();
  cancelling->callback([&run, &options, id] {
    run = [&options, id] {
      auto api = ApiClient::create(options);
      if (!api) return report(options, api.error());
      auto ended = api->call("POST", "/v1/jobs/" + percent_encode(*id) + "/cancel");
      if (!ended) return report(options, ended.error());
      std::cout << (options.json ? ended->dump() : job_summary(*ended)) << "\n";
      return static_cast<int>(kOk);
    };
  });
}

}  // namespace tidemark::cli
