#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <fstream>
#include <iostream>
#include <map>
#include <thread>

#include "api/cli/api_client.h"
#include "api/cli/commands.h"
#include "api/cli/print_plan.h"
#include "common/base/encoding.h"

namespace tidemark::cli {
namespace {

using nlohmann::json;
constexpr auto kPollInterval = std::chrono::milliseconds(200);

struct MemberOption {
  const char* flag;
  const char* member;
  const char* meaning;
};
constexpr MemberOption kTextOptions[] = {
    {"--source", "source", "table to read"},
    {"--destination", "destination", "table to write; created if absent"},
    {"--partition-key", "partitionKey", "one entity"},
    {"--row-key", "rowKey", "one entity"},
    {"--property", "property", "index: the property to index by"},
    {"--partition-key-template", "partitionKeyTemplate", "copy: such as {Department}"},
    {"--row-key-template", "rowKeyTemplate", "copy: such as {RowKey}_{LastName}"},
    {"--job", "job", "undo: the job to take back"},
    {"--poison-kind", "poisonKind", "redrive: messages of this kind"},
    {"--fingerprint", "fingerprint", "redrive: messages with this kind of failure"},
    {"--moved-after", "movedAfter", "redrive: messages that became poison at or after this time"},
    {"--moved-before", "movedBefore", "redrive: and before this time"},
    {"--idempotency-key", "idempotencyKey", "the same key gives the same job again"},
    {"--priority", "priority", "high, normal or low"},
    {"--not-before", "notBefore", "time of the earliest start, such as 2026-01-31T22:00:00Z"},
};
/// Of an archive outside of tables: what archive has as destination, unarchive as source.
constexpr MemberOption kArchiveOptions[] = {
    {"--container", "container", "archive, unarchive: a container instead of a table; offload: for the values"},
    {"--directory", "directory", "archive, unarchive: a directory of the workers' configuration instead of a table"},
    {"--prefix", "prefix", "archive, unarchive, offload: before every name, such as old/"},
    {"--table", "table", "unarchive: the table that was archived, if it is not the destination"},
    {"--format", "format", "archive, unarchive: entity (one document each) or lines (parts of many)"},
    {"--per", "per", "archive: a part holds one partition, hour, day or month"},
};
constexpr MemberOption kNumberOptions[] = {
    {"--max-attempts", "maxAttempts", "attempts before the job becomes poison"},
    {"--max-affected", "maxAffected", "stop instead of changing more entities than this"},
    {"--max-per-second", "maxPerSecond", "entities a second"},
    {"--retry-base-ms", "retryBaseMs", "greatest delay before the first retry"},
    {"--retry-cap-ms", "retryCapMs", "greatest delay before any retry"},
    {"--min-bytes", "minBytes", "offload: properties of at least so many bytes"},
    {"--per-second", "perSecond", "redrive: messages a second"},
    {"--canary", "canary", "redrive: send so many first, the rest only if they succeed"},
    {"--limit", "limit", "redrive: at most so many"},
};

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
  std::string file, filter;
  std::map<std::string, std::string> texts;     // by member of the job
  std::map<std::string, std::string> archive;   // by member of the archive
  std::map<std::string, std::int64_t> numbers;  // likewise; 0: not given
  std::vector<std::string> properties;
  bool wait = false, has_filter = false, whole_table = false, dry_run = false, batch = false, gzip = false,
       keep_blobs = false;
};

Result<std::string> specification(const SubmitArguments& a) {
  if (!a.file.empty()) {
    std::ifstream opened;
    if (a.file != "-") opened.open(a.file);
    std::istream& input = a.file == "-" ? std::cin : opened;
    if (!input) return fail(ErrorCode::kConfigInvalid, "cannot read " + a.file);
    return std::string(std::istreambuf_iterator<char>(input), {});
  }
  json spec = json::object();
  for (const auto& [name, text] : a.texts) {
    if (!text.empty()) spec[name] = text;
  }
  json archive = json::object();
  for (const auto& [name, text] : a.archive) {
    if (!text.empty()) archive[name] = text;
  }
  if (a.gzip) archive["gzip"] = true;
  if (a.keep_blobs) spec["keepBlobs"] = true;
  // A container of blobs for properties is no archive.
  if (a.texts.at("kind") == "offload") {
    spec.update(archive);
    archive.clear();
  }
  if (!archive.empty()) spec[a.texts.at("kind") == "unarchive" ? "source" : "destination"] = std::move(archive);
  for (const auto& [name, number] : a.numbers) {
    if (number > 0) spec[name] = number;
  }
  if (spec.contains("partitionKey") != spec.contains("rowKey")) {
    spec["partitionKey"] = a.texts.at("partitionKey");
    spec["rowKey"] = a.texts.at("rowKey");
  }
  if (a.has_filter) spec["filter"] = a.filter;
  if (a.whole_table) spec["wholeTable"] = true;
  if (!a.properties.empty()) spec["properties"] = a.properties;
  return spec.dump();
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

int list(const GlobalOptions& options, int limit, const std::string& kind, const std::string& state) {
  auto api = ApiClient::create(options);
  if (!api) return report(options, api.error());
  std::string path = "/v1/jobs?limit=" + std::to_string(limit);
  if (!kind.empty()) path += "&kind=" + percent_encode(kind);
  if (!state.empty()) path += "&state=" + percent_encode(state);
  auto page = api->call("GET", path);
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
  submitting->add_option("kind", arguments->texts["kind"],
                         "archive, unarchive, copy, delete, index, offload, inline, undo or redrive");
  submitting->add_option("--file", arguments->file, "the whole job as JSON from a file, - for standard input");
  submitting->add_flag("--batch", arguments->batch, "the file holds many jobs: {\"jobs\":[...]}");
  for (const auto& [flag, member, meaning] : kTextOptions) {
    submitting->add_option(flag, arguments->texts[member], meaning);
  }
  for (const auto& [flag, member, meaning] : kArchiveOptions) {
    submitting->add_option(flag, arguments->archive[member], meaning);
  }
  submitting->add_flag("--keep-blobs", arguments->keep_blobs, "inline: leave the blobs where they are");
  submitting->add_flag("--gzip", arguments->gzip, "archive: compress the parts");
  for (const auto& [flag, member, meaning] : kNumberOptions) {
    submitting->add_option(flag, arguments->numbers[member], meaning)->check(CLI::PositiveNumber);
  }
  auto* filter = submitting->add_option("--filter", arguments->filter, "OData filter; '' selects every entity");
  submitting->add_option("--property-list", arguments->properties,
                         "copy, offload, inline: these properties; all if absent");
  submitting->add_flag("--whole-table", arguments->whole_table, "delete: the table itself");
  submitting->add_flag("--dry-run", arguments->dry_run, "print what the job would do, and do nothing");
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
  auto kind = std::make_shared<std::string>();
  auto state = std::make_shared<std::string>();
  listing->add_option("--kind", *kind, "of this kind only");
  listing->add_option("--state", *state, "in this state only");
  listing->callback([&run, &options, limit, kind, state] {
    run = [&options, limit, kind, state] { return list(options, *limit, *kind, *state); };
  });

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
