#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <span>
#include <sstream>

#include "api/cli/commands.h"
#include "api/cli/job_options.h"
#include "api/cli/job_watch.h"
#include "api/cli/paged_list.h"
#include "api/cli/print_plan.h"
#include "api/cli/short_ids.h"

namespace tidemark::cli {
namespace {

using nlohmann::json;

struct SubmitArguments {
  std::string file, group;
  JobArguments job;
  bool wait = false, dry_run = false, batch = false;
};

/// Returns the conflict between options that cannot be given together.
std::optional<std::string> contradiction(const SubmitArguments& a) {
  if (a.batch && a.dry_run) return "--dry-run is for one job: the jobs of a batch are submitted at once";
  if (a.batch && a.wait) return "--wait is for one job, not for those of a batch";
  if (a.batch && a.file.empty()) return "--batch needs --file, which has the jobs";
  if (!a.group.empty() && !a.batch) return "--group is for the jobs of a --batch";
  if (!a.file.empty() && describes_job(a.job)) return "--file has all of the job: no other option can say what it is";
  return std::nullopt;
}

Result<std::string> specification(const SubmitArguments& a) {
  if (!a.file.empty()) return read_file(a.file);
  return TRY(job_of(a.job)).dump();
}

/// Many jobs, and the settings that apply to all of them: group and onEnd.
struct JobFile {
  std::vector<json> jobs;
  json common = json::object();
};

/// Reads {"jobs":[...],"group"?,"onEnd"?}, a JSON array, or one job a line.
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
  TRY(read_json_lines(lines, [&](json job) -> Result<void> {
    file.jobs.push_back(std::move(job));
    return {};
  }));
  return file;
}

/// Prints the result for each job; kFailed if one was refused.
int print_results(const GlobalOptions& options, const json& results) {
  int code = kOk;
  for (const auto& result : results) {
    const bool accepted = result.contains("job");
    if (!accepted) code = kFailed;
    if (options.json) continue;
    std::cout << (accepted ? cell(result["job"], "id")
                           : "refused: " + cell(result.value("problem", json::object()), "detail"))
              << "\n";
  }
  return code;
}

/// Submits as many jobs at once as the api takes, again and again; a group goes in one request.
Result<int> submit_batch(const GlobalOptions& options, ApiClient& api, const std::string& text,
                         const std::string& group) {
  auto file = TRY(jobs_of(text));
  if (!group.empty()) file.common["group"] = group;
  const auto& jobs = file.jobs;
  const std::size_t at_once = file.common.empty() ? 1000 : std::max<std::size_t>(1, jobs.size());
  auto results = json::array();
  int code = kOk;
  for (std::size_t begin = 0; begin < jobs.size(); begin += at_once) {
    auto body = file.common;
    const auto part = std::span(jobs).subspan(begin, std::min(at_once, jobs.size() - begin));
    body["jobs"] = std::vector<json>(part.begin(), part.end());
    auto answer = TRY(api.call("POST", "/v1/jobs/batch", body.dump()));
    code = std::max(code, print_results(options, answer["results"]));
    for (auto& result : answer["results"]) results.push_back(std::move(result));
  }
  if (options.json) std::cout << json{{"results", std::move(results)}} << "\n";
  return code;
}

Result<int> submit_text(const GlobalOptions& options, ApiClient& api, const SubmitArguments& a,
                        const std::string& spec) {
  const auto job = TRY(api.call("POST", a.dry_run ? "/v1/jobs?dryRun=true" : "/v1/jobs", spec));
  if (a.dry_run) return print_plan(options, job);
  if (a.wait) return watch_job(options, api, cell(job, "id"));
  print_answer(options, job, [](const json& submitted) { std::cout << cell(submitted, "id") << "\n"; });
  return kOk;
}

Result<int> submit(const GlobalOptions& options, const SubmitArguments& a) {
  if (const auto why = contradiction(a)) return wrong_arguments(options, *why);
  auto api = TRY(ApiClient::create(options));
  const auto spec = TRY(specification(a));
  if (a.batch) return submit_batch(options, api, spec, a.group);
  return submit_text(options, api, a, spec);
}

void add_submit(const Commands& jobs) {
  auto arguments = std::make_shared<SubmitArguments>();
  auto& submitting = jobs.add("submit", "submit a job; prints its id, or with --wait all of it once it has ended",
                              [arguments](const GlobalOptions& options) { return submit(options, *arguments); });
  submitting.add_option("--file", arguments->file, "the whole job as JSON from a file, - for standard input");
  submitting.add_flag("--batch", arguments->batch,
                      "the file has many jobs: a JSON array, {\"jobs\":[...]}, or one per line");
  submitting.add_option("--group", arguments->group, "with --batch: the name of the group of these jobs");
  add_job_options(submitting, arguments->job);
  submitting.add_flag("--dry-run", arguments->dry_run, "print what the job would do, without doing it");
  submitting.add_flag("--wait", arguments->wait, "wait until the job ends, with a progress bar");
}

void add_plan_of_job(const Commands& jobs) {
  auto arguments = std::make_shared<SubmitArguments>();
  arguments->dry_run = true;
  auto& planning = jobs.add("plan", "print what a job would do, without doing it",
                            [arguments](const GlobalOptions& options) { return submit(options, *arguments); });
  planning.add_option("--file", arguments->file, "the whole job as JSON from a file, - for standard input");
  add_job_options(planning, arguments->job);
}

void add_show_job(const Commands& jobs) {
  auto id = std::make_shared<std::string>();
  auto watching = std::make_shared<bool>(false);
  auto& showing =
      jobs.add("show", "show a job with its history", [id, watching](const GlobalOptions& options) -> Result<int> {
        const auto whole = TRY(whole_job_id(options, *id));
        if (!*watching) {
          return call_and_print(options, "GET", item_path("jobs", whole),
                                [](const json& job) { std::cout << job_details(job); });
        }
        auto api = TRY(ApiClient::create(options));
        return watch_job(options, api, whole);
      });
  showing.add_option("id", *id, "the job's id")->required();
  showing.add_flag("--watch", *watching, "wait until the job ends, with a progress bar");
}

struct ListArguments {
  Extent wanted;
  std::string kind, state, queue;
};

/// The table that a job reads; an archive outside of tables by its container or directory.
std::string table_named(const json& source) {
  if (!source.is_object()) return text_of(source);
  return source.contains("container") ? cell(source, "container") + "/" + cell(source, "prefix")
                                      : cell(source, "directory");
}

Result<int> list(const GlobalOptions& options, const ListArguments& a) {
  const auto table = table_of({{"job", "/id", id_of},
                               {"kind", "/kind"},
                               {"table", "/spec/source", table_named},
                               {"state", "/state"},
                               {"queue", "/queue"},
                               {">done", "/progress/done"},
                               {">skipped", "/progress/skipped"},
                               {">attempts", "/attempts"},
                               {"submitted", "/submittedAt", time_of},
                               {"worker", "/worker"},
                               {"waiting", "/waiting/text"}},
                              "no jobs");
  return list_and_print(options, "/v1/jobs" + query_of({{"kind", a.kind}, {"state", a.state}, {"queue", a.queue}}),
                        "jobs", a.wanted, table);
}

void add_list_jobs(const Commands& jobs) {
  auto which = std::make_shared<ListArguments>();
  auto& listing = jobs.add("list", "list jobs, newest first",
                           [which](const GlobalOptions& options) { return list(options, *which); });
  which->wanted.declare(listing);
  listing.add_option("--kind", which->kind, "only of this kind");
  listing.add_option("--queue", which->queue, "only on this queue; default: those of the priorities");
  listing.add_option("--state", which->state, "only in this state")
      ->check(CLI::IsMember({"queued", "running", "succeeded", "poisoned", "cancelled"}));
}

/// The api answers with the job as it is; one that had ended stays as it ended.
Result<int> cancel_job(const GlobalOptions& options, const std::string& id) {
  auto api = TRY(ApiClient::create(options));
  const auto before = TRY(api.call("GET", item_path("jobs", id)));
  const auto job = TRY(api.call("POST", item_path("jobs", id, "/cancel")));
  const auto state = cell(job, "state");
  if (state != "cancelled" || cell(before, "state") == state) {
    return fail(ErrorCode::kInvalidInput, "job " + id + " had ended already: it is " + state + ", and stays so");
  }
  print_answer(options, job, [](const json& cancelled) { std::cout << job_summary(cancelled) << "\n"; });
  return kOk;
}

/// A file with the guards and steps of a transaction, which need not name the kind.
Result<int> submit_transaction(const GlobalOptions& options, SubmitArguments a) {
  const auto text = TRY(read_file(a.file));
  auto spec = json::parse(text, nullptr, false);
  if (!spec.is_object()) return fail(ErrorCode::kInvalidInput, a.file + " is not a JSON object with guards and steps");
  spec.emplace("kind", "transaction");
  auto api = TRY(ApiClient::create(options));
  return submit_text(options, api, a, spec.dump());
}

void add_transaction_commands(const Commands& program) {
  const auto transactions = program.family("transaction", "several changes in different places, all of them or none");
  auto arguments = std::make_shared<SubmitArguments>();
  auto& submitting =
      transactions.add("submit", "submit guards and steps; prints the job's id, or with --wait all of it at its end",
                       [arguments](const GlobalOptions& options) { return submit_transaction(options, *arguments); });
  submitting.add_option("file", arguments->file, "a file with the JSON of the transaction, - for standard input")
      ->required();
  submitting.add_flag("--dry-run", arguments->dry_run, "print what each step would change, without changing it");
  submitting.add_flag("--wait", arguments->wait, "wait until it has ended");
}

}  // namespace

void add_job_commands(const Commands& program) {
  add_transaction_commands(program);
  const auto jobs = program.family("job", "submit jobs and follow them");
  add_submit(jobs);
  add_plan_of_job(jobs);
  add_show_job(jobs);
  auto id = std::make_shared<std::string>();
  jobs.add("follow", "print a line for every change of a job until it ends",
           [id](const GlobalOptions& options) -> Result<int> {
             return follow_job(options, TRY(whole_job_id(options, *id)));
           })
      .add_option("id", *id, "the job's id")
      ->required();
  add_list_jobs(jobs);
  jobs.add("cancel", "cancel a job; a worker that runs it stops within a page",
           [id](const GlobalOptions& options) -> Result<int> {
             return cancel_job(options, TRY(whole_job_id(options, *id)));
           })
      .add_option("id", *id, "the job's id")
      ->required();
}

}  // namespace tidemark::cli
