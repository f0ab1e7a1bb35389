#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <fstream>
#include <iostream>
#include <thread>

#include "api/cli/api_client.h"
#include "api/cli/commands.h"
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
  std::string file, kind, source, destination, filter, partition, row, property, key;
  int max_attempts = 0;
  bool wait = false, has_filter = false;
};

Result<std::string> specification(const SubmitArguments& a) {
  if (!a.file.empty()) {
    std::ifstream opened;
    if (a.file != "-") opened.open(a.file);
    std::istream& input = a.file == "-" ? std::cin : opened;
    if (!input) return fail(ErrorCode::kConfigInvalid, "cannot read " + a.file);
    return std::string(std::istreambuf_iterator<char>(input), {});
  }
  json spec{{"kind", a.kind}, {"source", a.source}, {"destination", a.destination}};
  if (a.has_filter) spec["filter"] = a.filter;
  if (!a.row.empty() || !a.partition.empty()) {
    spec["partitionKey"] = a.partition;
    spec["rowKey"] = a.row;
  }
  if (!a.property.empty()) spec["property"] = a.property;
  if (!a.key.empty()) spec["idempotencyKey"] = a.key;
  if (a.max_attempts > 0) spec["maxAttempts"] = a.max_attempts;
  return spec.dump();
}

int submit(const GlobalOptions& options, const SubmitArguments& arguments) {
  auto api = ApiClient::create(options);
  if (!api) return report(options, api.error());
  auto spec = specification(arguments);
  if (!spec) return report(options, spec.error());
  auto job = api->call("POST", "/v1/jobs", *spec);
  if (!job) return report(options, job.error());
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

int list(const GlobalOptions& options, int limit) {
  auto api = ApiClient::create(options);
  if (!api) return report(options, api.error());
  auto page = api->call("GET", "/v1/jobs?limit=" + std::to_string(limit));
  if (!page) return report(options, page.error());
  if (options.json) {
    std::cout << *page << "\n";
    return kOk;
  }
  for (const auto& job : page->value("jobs", json::array())) std::cout << describe(job) << "\n";
  return kOk;
}

}  // namespace

void add_job_commands(CLI::App& app, const GlobalOptions& options, Run& run) {
  auto* job = app.add_subcommand("job", "submit jobs and follow them")->require_subcommand(1);

  auto arguments = std::make_shared<SubmitArguments>();
  auto* submitting = job->add_subcommand("submit", "submit a job; prints its id");
  submitting->add_option("kind", arguments->kind, "archive or index")->check(CLI::IsMember({"archive", "index"}));
  submitting->add_option("--file", arguments->file, "the whole job as JSON from a file, - for standard input");
  submitting->add_option("--source", arguments->source, "table to read");
  submitting->add_option("--destination", arguments->destination, "table to write; created if absent");
  auto* filter = submitting->add_option("--filter", arguments->filter, "OData filter; '' archives every entity");
  submitting->add_option("--partition-key", arguments->partition, "archive: one entity");
  submitting->add_option("--row-key", arguments->row, "archive: one entity");
  submitting->add_option("--property", arguments->property, "index: the property to index by");
  submitting->add_option("--idempotency-key", arguments->key, "the same key gives the same job again");
  submitting->add_option("--max-attempts", arguments->max_attempts, "attempts before the job becomes poison")
      ->check(CLI::Range(1, 100));
  submitting->add_flag("--wait", arguments->wait, "wait for the end, with a progress bar");
  submitting->callback([&run, &options, arguments, filter] {
    arguments->has_filter = filter->count() > 0;
    run = [&options, arguments] { return submit(options, *arguments); };
  });

  auto id = std::make_shared<std::string>();
  auto watching = std::make_shared<bool>(false);
  auto* showing = job->add_subcommand("show", "show a job");
  showing->add_option("id", *id, "the job's id")->required();
  showing->add_flag("--watch", *watching, "follow it to its end with a progress bar");
  showing->callback(
      [&run, &options, id, watching] { run = [&options, id, watching] { return show(options, *id, *watching); }; });

  auto limit = std::make_shared<int>(50);
  auto* listing = job->add_subcommand("list", "list jobs, newest first");
  listing->add_option("--limit", *limit, "how many")->check(CLI::Range(1, 1000))->capture_default_str();
  listing->callback([&run, &options, limit] { run = [&options, limit] { return list(options, *limit); }; });
}

}  // namespace tidemark::cli
