#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <iostream>
#include <thread>

#include "api/cli/answers.h"
#include "api/cli/commands.h"
#include "api/cli/job_options.h"
#include "api/cli/print_plan.h"
#include "common/base/encoding.h"

namespace tidemark::cli {
namespace {

using nlohmann::json;
constexpr auto kPollInterval = std::chrono::milliseconds(200);

bool ended(const json& job) {
  const auto state = job.value("state", "");
  return state == "succeeded" || state == "poisoned" || state == "cancelled";
}

std::string describe(const json& job) {
  const auto progress = job.value("progress", json::object());
  std::string text = job.value("id", "") + "  " + job.value("kind", "") + "  " + job.value("state", "") + "  done " +
                     std::to_string(progress.value("done", 0ULL)) + ", skipped " +
                     std::to_string(progress.value("skipped", 0ULL));
  if (job.value("attempts", 0) > 1) text += ", attempt " + std::to_string(job.value("attempts", 0));
  return text;
}

std::string details(const json& job) {
  std::string text = describe(job) + "\n";
  for (const auto* name : {"submittedAt", "startedAt", "finishedAt", "worker", "error"}) {
    if (job.contains(name)) text += std::string(name) + ": " + job[name].get<std::string>() + "\n";
  }
  if (job.contains("skips")) text += "skipped: " + job["skips"].dump() + "\n";
  for (const auto& attempt : job.value("history", json::array())) {
    text += "attempt " + std::to_string(attempt.value("number", 0)) + ": " + attempt.value("outcome", "") + "  " +
            attempt.value("worker", "") + "  " + attempt.value("startedAt", "") + "  " +
            std::to_string(attempt.value("durationMs", 0)) + " ms  " + attempt.value("message", "") + "\n";
  }
  return text + "spec: " + job.value("spec", json()).dump() + "\n";
}

// A bar when the total is known, a running count otherwise. Rewrites its line on a terminal.
void draw_progress(const json& job) {
  const auto progress = job.value("progress", json::object());
  const auto done = progress.value("done", 0ULL) + progress.value("skipped", 0ULL);
  std::string line = job.value("state", "");
  if (progress.contains("total") && progress["total"].get<std::uint64_t>() > 0) {
    const auto total = progress["total"].get<std::uint64_t>();
    constexpr std::uint64_t kWidth = 30;
    const auto filled = std::min<std::uint64_t>(kWidth, done * kWidth / total);
    line += " [" + std::string(filled, '#') + std::string(kWidth - filled, '.') + "] " + std::to_string(done) + "/" +
            std::to_string(total);
  } else {
    line += "  " + std::to_string(done) + " done";
  }
  const auto phase = progress.value("phase", "");
  if (!phase.empty()) line += "  " + phase;
  if (isatty(STDERR_FILENO) != 0) {
    std::cerr << "\r\033[K" << line << std::flush;
    if (ended(job)) std::cerr << "\n";
  } else if (ended(job)) {
    std::cerr << line << "\n";
  }
}

int exit_code_of(const json& job) {
  return !ended(job) || job.value("state", "") == "succeeded" ? kOk : kJobNotSucceeded;
}

int watch(const GlobalOptions& options, ApiClient& api, const std::string& id) {
  for (;;) {
    auto job = api.call("GET", "/v1/jobs/" + percent_encode(id));
    if (!job) return report(options, job.error());
    if (!options.json) draw_progress(*job);
    if (ended(*job)) {
      if (options.json) {
        std::cout << *job << "\n";
      } else {
        std::cout << details(*job);
      }
      return exit_code_of(*job);
    }
    std::this_thread::sleep_for(kPollInterval);
  }
}

struct SubmitArguments {
  std::string file;
  JobArguments job;
  bool wait = false, dry_run = false, batch = false;
};

Result<std::string> specification(const SubmitArguments& a) {
  if (!a.file.empty()) return read_file(a.file);
  return job_of(a.job).dump();
}

int submit_batch(const GlobalOptions& options, ApiClient& api, const std::string& jobs) {
  auto answer = api.call("POST", "/v1/jobs/batch", jobs);
  if (!answer) return report(options, answer.error());
  if (options.json) {
    std::cout << *answer << "\n";
    return kOk;
  }
  int code = kOk;
  for (const auto& result : answer->value("results", json::array())) {
    if (result.contains("job")) {
      std::cout << result["job"].value("id", "") << "\n";
    } else {
      std::cout << "refused: " << result.value("problem", json::object()).value("detail", "") << "\n";
      code = kFailed;
    }
  }
  return code;
}

int submit(const GlobalOptions& options, const SubmitArguments& arguments) {
  auto api = ApiClient::create(options);
  if (!api) return report(options, api.error());
  auto spec = specification(arguments);
  if (!spec) return report(options, spec.error());
  if (arguments.batch) return submit_batch(options, *api, *spec);
  auto job = api->call("POST", arguments.dry_run ? "/v1/jobs?dryRun=true" : "/v1/jobs", *spec);
  if (!job) return report(options, job.error());
  if (arguments.dry_run) return print_plan(options, *job);
  if (arguments.wait) return watch(options, *api, job->value("id", ""));
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
  if (watching) return watch(options, *api, id);
  auto job = api->call("GET", "/v1/jobs/" + percent_encode(id));
  if (!job) return report(options, job.error());
  if (options.json) {
    std::cout << *job << "\n";
  } else {
    std::cout << details(*job);
  }
  return kOk;
}

void print_jobs(const json& items) {
  TextTable table({"job", "kind", "state", ">done", ">skipped", ">attempts", "submitted", "worker"});
  for (const auto& job : items) {
    const auto progress = job.value("progress", json::object());
    table.add({cell(job, "id"), cell(job, "kind"), cell(job, "state"), cell(progress, "done"),
               cell(progress, "skipped"), cell(job, "attempts"), cell(job, "submittedAt"), cell(job, "worker")});
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
  submitting->add_flag("--batch", arguments->batch, "the file holds many jobs: {\"jobs\":[...]}");
  add_job_options(*submitting, arguments->job);
  submitting->add_flag("--dry-run", arguments->dry_run, "print what the job would do, and do nothing");
  submitting->add_flag("--wait", arguments->wait, "wait for the end, with a progress bar");
  submitting->callback(
      [&run, &options, arguments] { run = [&options, arguments] { return submit(options, *arguments); }; });

  auto id = std::make_shared<std::string>();
  auto watching = std::make_shared<bool>(false);
  auto* showing = job->add_subcommand("show", "show a job");
  showing->add_option("id", *id, "the job's id")->required();
  showing->add_flag("--watch", *watching, "follow it to its end with a progress bar");
  showing->callback(
      [&run, &options, id, watching] { run = [&options, id, watching] { return show(options, *id, *watching); }; });

  auto which = std::make_shared<ListArguments>();
  auto* listing = job->add_subcommand("list", "list jobs, newest first");
  listing->add_option("--limit", which->limit, "how many; 0 for all")->capture_default_str();
  listing->add_option("--kind", which->kind, "of this kind only");
  listing->add_option("--state", which->state, "in this state only");
  listing->callback([&run, &options, which] { run = [&options, which] { return list(options, *which); }; });

  auto* cancelling = job->add_subcommand("cancel", "end a job; a worker on it stops within a page");
  cancelling->add_option("id", *id, "the job's id")->required();
  cancelling->callback([&run, &options, id] {
    run = [&options, id] {
      auto api = ApiClient::create(options);
      if (!api) return report(options, api.error());
      auto ended = api->call("POST", "/v1/jobs/" + percent_encode(*id) + "/cancel");
      if (!ended) return report(options, ended.error());
      std::cout << (options.json ? ended->dump() : describe(*ended)) << "\n";
      return static_cast<int>(kOk);
    };
  });
}

}  // namespace tidemark::cli
