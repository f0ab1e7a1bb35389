#include "api/cli/poison_bulk.h"

#include <algorithm>
#include <iostream>
#include <thread>

#include "api/cli/answers.h"
#include "api/cli/job_watch.h"
#include "api/cli/terminal.h"
#include "common/base/encoding.h"
#include "common/base/text.h"
#include "common/base/time.h"

namespace tidemark::cli {
namespace {

using nlohmann::json;

constexpr std::size_t kShownFailures = 10;

std::string now_text() { return to_iso8601(std::chrono::time_point_cast<Ticks>(std::chrono::system_clock::now())); }

std::string messages(std::uint64_t count) { return counted(count, "message"); }

/// The outcome of messages that were sent back.
struct Outcome {
  std::vector<std::string> pending;  // job ids
  std::uint64_t sent = 0, succeeded = 0, cancelled = 0;
  std::vector<std::string> failed;  // job ids
};

/// Returns the jobs of all messages that match.
Result<std::vector<std::string>> list_jobs(ApiClient& api, const PoisonFilter& filter) {
  std::vector<std::string> ids;
  std::string continuation;
  do {
    const auto query = filter.query();
    auto path = "/v1/poison" + query + (query.empty() ? "?" : "&") + "limit=1000";
    if (!continuation.empty()) path += "&continuation=" + percent_encode(continuation);
    const auto page = TRY(api.call("GET", path));
    for (const auto& each : page.value("poison", json::array())) ids.push_back(cell(each, "jobId"));
    continuation = page.value("continuation", "");
  } while (!continuation.empty());
  return ids;
}

/// A job's action on poison messages, in words.
struct Verb {
  const char* kind;  // of the job
  const char* ask;   // "Delete 3 messages?"
  const char* did;   // "deleted 3 messages"
  bool jobs_go_on;   // the jobs of the messages go on, so they have an outcome
};
constexpr Verb kSendBack{"redrive", "Send back", "sent", true};
constexpr Verb kDelete{"purge", "Delete", "deleted", false};

bool by_filter(const PoisonSelection& which) { return which.ids.empty() && which.queue.name.empty(); }

/// Returns the kinds of failure among the matching messages, for the question to the user.
Result<std::string> groups_of(ApiClient& api, const PoisonFilter& filter) {
  const auto found = TRY(api.call("GET", "/v1/poison/groups" + filter.query()));
  std::string text;
  for (const auto& group : found.value("groups", json::array())) {
    text += "  " + cell(group, "count") + "  " + cell(group, "kind") + " " + cell(group, "source") + "  " +
            std::string(beginning_of(cell(group, "reason"), 100)) + "\n";
  }
  return text;
}

Result<json> job_of(ApiClient& api, const Verb& verb, const BulkArguments& arguments) {
  const auto& which = arguments.which;
  const auto& filter = which.filter;
  json job{{"kind", verb.kind}};
  for (const auto& id : which.ids) job["poisonIds"].push_back(TRY(which.queue.whole(api, id)));
  for (const auto& [member, value] : {std::pair<const char*, const std::string&>("poisonQueue", which.queue.name),
                                      std::pair<const char*, const std::string&>("poisonKind", filter.kind),
                                      std::pair<const char*, const std::string&>("poisonSource", filter.source),
                                      std::pair<const char*, const std::string&>("fingerprint", filter.fingerprint),
                                      std::pair<const char*, const std::string&>("movedAfter", filter.moved_after),
                                      std::pair<const char*, const std::string&>("movedBefore", filter.moved_before)}) {
    if (!value.empty()) job[member] = value;
  }
  for (const auto& [member, value] : {std::pair<const char*, std::uint64_t>("perSecond", arguments.per_second),
                                      std::pair<const char*, std::uint64_t>("canary", arguments.canary),
                                      std::pair<const char*, std::uint64_t>("limit", arguments.limit)}) {
    if (value > 0) job[member] = value;
  }
  return job;
}

/// Counts the messages that the job would touch and asks whether to go on. The job may then touch no more than were
/// counted; the audit trail records this limit.
Result<bool> agreed(ApiClient& api, const Verb& verb, const PoisonSelection& which, json& job) {
  const auto plan = TRY(api.call("POST", "/v1/jobs?dryRun=true", job.dump()));
  const auto count = plan.value("keys", 0ULL);
  if (count == 0) {
    std::cerr << "no poison message matches\n";
    return false;
  }
  const bool complete = plan.value("complete", true);
  if (complete) job["limit"] = count;
  if (which.yes) return true;
  if (by_filter(which)) std::cerr << TRY(groups_of(api, which.filter));
  return ask(std::string(verb.ask) + (complete ? " " : " at least ") + messages(count) + "?", "--yes");
}

bool was_sent_by(const json& job, const std::string& sender) {
  const auto history = job.value("history", json::array());
  return std::ranges::any_of(history, [&](const json& entry) { return cell(entry, "by") == sender; });
}

/// Returns true if the job has ended, and counts its outcome. `sender`: the redrive job that may have sent it, or
/// empty.
Result<bool> note_end(ApiClient& api, const std::string& id, const std::string& sender, Outcome& outcome) {
  const auto job = TRY(api.call("GET", item_path("jobs", id)));
  if (!sender.empty() && !was_sent_by(job, sender)) return true;  // it stayed where it was
  const auto state = job.value("state", "");
  if (state == "poisoned") {
    // The message may still be on its way, with no worker having claimed it.
    const auto poison = api.call("GET", item_path("poison", id));
    if (!poison && poison.error().code == ErrorCode::kNotFound) return false;
    if (!poison) return fail(poison.error());
    outcome.failed.push_back(id);
  } else if (state == "succeeded") {
    ++outcome.succeeded;
  } else if (state == "cancelled") {
    ++outcome.cancelled;
  } else {
    return false;
  }
  if (!sender.empty()) ++outcome.sent;
  return true;
}

Result<void> await_ends(ApiClient& api, const std::string& sender, Outcome& outcome) {
  while (!outcome.pending.empty()) {
    std::vector<std::string> later;
    for (const auto& id : outcome.pending) {
      if (!TRY(note_end(api, id, sender, outcome))) later.push_back(id);
    }
    outcome.pending = std::move(later);
    if (!outcome.pending.empty()) std::this_thread::sleep_for(kLookEvery);
  }
  return {};
}

int print_outcome(const GlobalOptions& options, const Outcome& outcome) {
  print_answer(options,
               {{"sent", outcome.sent},
                {"succeeded", outcome.succeeded},
                {"cancelled", outcome.cancelled},
                {"failedAgain", outcome.failed}},
               [&](const json&) {
                 std::cout << "sent " << outcome.sent << ", succeeded " << outcome.succeeded << ", failed again "
                           << outcome.failed.size();
                 if (outcome.cancelled > 0) std::cout << ", cancelled " << outcome.cancelled;
                 std::cout << "\n";
                 for (std::size_t i = 0; i < std::min(outcome.failed.size(), kShownFailures); ++i) {
                   std::cout << "failed again: tidemark poison show " << outcome.failed[i] << "\n";
                 }
               });
  return outcome.failed.empty() ? kOk : kJobNotSucceeded;
}

/// Returns the jobs of the messages that will be sent back.
Result<std::vector<std::string>> jobs_of(ApiClient& api, const PoisonSelection& which, const json& job) {
  if (which.ids.empty()) return list_jobs(api, which.filter);
  std::vector<std::string> found;
  for (const auto& id : job["poisonIds"]) {
    const auto message = api.call("GET", item_path("poison", id.get<std::string>()));
    if (!message && message.error().code != ErrorCode::kNotFound) return fail(message.error());
    if (message) found.push_back(cell(*message, "jobId"));
  }
  return found;
}

/// Prints how many messages the job went through, under this name.
int print_done(const GlobalOptions& options, const json& ended, const char* did) {
  const auto done = ended.value(json::json_pointer("/progress/done"), 0ULL);
  print_answer(options, {{did, done}}, [&](const json&) { std::cout << did << " " << messages(done) << "\n"; });
  return kOk;
}

Result<int> act_on_many(const GlobalOptions& options, const Verb& verb, BulkArguments arguments) {
  auto api = TRY(ApiClient::create(options));
  auto& which = arguments.which;
  // A filter selects only messages that exist by now.
  if (by_filter(which) && which.filter.moved_before.empty()) which.filter.moved_before = now_text();
  auto job = TRY(job_of(api, verb, arguments));
  if (!TRY(agreed(api, verb, which, job))) return kOk;
  const bool outcomes = arguments.wait && verb.jobs_go_on && which.queue.name.empty();
  Outcome outcome;
  if (outcomes) outcome.pending = TRY(jobs_of(api, which, job));
  const auto submitted = TRY(api.call("POST", "/v1/jobs", job.dump()));
  const auto id = cell(submitted, "id");
  if (!arguments.wait) {
    print_answer(options, submitted, [&](const json&) { std::cout << id << "\n"; });
    return kOk;
  }
  const auto ended = TRY(await_job(options, api, id));
  if (outcomes) TRY(await_ends(api, id, outcome));
  const auto code = outcomes ? print_outcome(options, outcome) : print_done(options, ended, verb.did);
  if (ended.value("state", "") == "succeeded") return code;
  std::cerr << "job " << id << " " << cell(ended, "state") << ": " << cell(ended, "error") << "\n";
  return kJobNotSucceeded;
}

}  // namespace

Result<int> redrive_many(const GlobalOptions& options, BulkArguments arguments) {
  return act_on_many(options, kSendBack, std::move(arguments));
}

Result<int> delete_many(const GlobalOptions& options, BulkArguments arguments) {
  return act_on_many(options, kDelete, std::move(arguments));
}

Result<int> redrive_one(const GlobalOptions& options, const BulkArguments& arguments, const EditedMessage& edited) {
  auto api = TRY(ApiClient::create(options));
  const auto path = TRY(arguments.which.queue.path(options, arguments.which.ids.front(), "/redrive"));
  const auto message = TRY(api.call("POST", path, edited.content, edited.condition()));
  const bool job = message.contains("jobId");
  if (arguments.wait && job) {
    Outcome outcome;
    outcome.sent = 1;
    outcome.pending = {cell(message, "jobId")};
    TRY(await_ends(api, {}, outcome));
    return print_outcome(options, outcome);
  }
  print_answer(options, message, [&](const json&) {
    std::cout << "sent back: " << (job ? "job " : "message ") << cell(message, job ? "jobId" : "id") << "\n";
  });
  return kOk;
}

Result<int> delete_one(const GlobalOptions& options, const PoisonSelection& which) {
  auto api = TRY(ApiClient::create(options));
  TRY(api.call("DELETE", TRY(which.queue.path(options, which.ids.front()))));
  print_answer(options, {{"deleted", 1}}, [&](const json&) { std::cout << "deleted " << messages(1) << "\n"; });
  return kOk;
}

}  // namespace tidemark::cli
