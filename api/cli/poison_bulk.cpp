#include "api/cli/poison_bulk.h"

#include <algorithm>
#include <iostream>
#include <thread>

#include "api/cli/answers.h"
#include "api/cli/job_watch.h"
#include "api/cli/terminal.h"
#include "common/base/encoding.h"
#include "common/base/time.h"

namespace tidemark::cli {
namespace {

using nlohmann::json;

constexpr auto kLookEvery = std::chrono::milliseconds(200);
constexpr std::size_t kShownFailures = 10;

std::string now_text() { return to_iso8601(std::chrono::time_point_cast<Ticks>(std::chrono::system_clock::now())); }

std::string messages(std::uint64_t count) { return std::to_string(count) + (count == 1 ? " message" : " messages"); }

/// What became of messages that were sent back.
struct Outcome {
  std::vector<std::string> pending;  // jobs
  std::uint64_t sent = 0, succeeded = 0, cancelled = 0;
  std::vector<std::string> failed;  // jobs
};

/// All ids, `member` of each, of those that match.
Result<std::vector<std::string>> list_ids(ApiClient& api, const std::string& query, const char* member) {
  std::vector<std::string> ids;
  std::string continuation;
  do {
    auto path = "/v1/poison" + query + (query.empty() ? "?" : "&") + "limit=1000";
    if (!continuation.empty()) path += "&continuation=" + percent_encode(continuation);
    const auto page = TRY(api.call("GET", path));
    for (const auto& each : page.value("poison", json::array())) ids.push_back(cell(each, member));
    continuation = page.value("continuation", "");
  } while (!continuation.empty());
  return ids;
}

/// How many match, and what they are.
Result<std::pair<std::uint64_t, std::string>> counted(ApiClient& api, const PoisonFilter& filter) {
  const auto found = TRY(api.call("GET", "/v1/poison/groups" + filter.query()));
  std::uint64_t count = 0;
  std::string text;
  for (const auto& group : found.value("groups", json::array())) {
    count += group.value("count", 0ULL);
    text += "  " + cell(group, "count") + "  " + cell(group, "kind") + " " + cell(group, "source") + "  " +
            cell(group, "reason").substr(0, 100) + "\n";
  }
  return std::pair(count, text);
}

/// Whether to go on, of what matches a filter.
Result<bool> agreed(ApiClient& api, const PoisonSelection& which, const std::string& verb) {
  if (which.yes) return true;
  const auto [count, what] = TRY(counted(api, which.filter));
  if (count == 0) {
    std::cerr << "no poison message matches\n";
    return false;
  }
  std::cerr << what;
  return ask(verb + " " + messages(count) + "?", "--yes");
}

/// The same of messages that are known one by one.
Result<bool> agreed(const PoisonSelection& which, std::size_t count, const std::string& verb) {
  if (which.yes || (count == 1 && which.ids.size() == 1)) return true;
  return ask(verb + " " + messages(count) + "?", "--yes");
}

/// Of what has a filter, only what is there by now.
void end_now(PoisonFilter& filter) {
  if (filter.moved_before.empty()) filter.moved_before = now_text();
}

bool was_sent_by(const json& job, const std::string& sender) {
  const auto history = job.value("history", json::array());
  return std::ranges::any_of(history, [&](const json& entry) { return cell(entry, "by") == sender; });
}

/// True if the job has ended, which is noted. `sender`: the redrive job that may have sent it, or empty.
Result<bool> note_end(ApiClient& api, const std::string& id, const std::string& sender, Outcome& outcome) {
  const auto job = TRY(api.call("GET", item_path("jobs", id)));
  if (!sender.empty() && !was_sent_by(job, sender)) return true;  // it stayed where it was
  const auto state = job.value("state", "");
  if (state == "poisoned") {
    // Unless its message is on its way, and no worker has claimed it yet.
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

json job_of(const RedriveArguments& arguments) {
  const auto& filter = arguments.which.filter;
  json job{{"kind", "redrive"}};
  for (const auto& [member, value] : {std::pair<const char*, const std::string&>("poisonKind", filter.kind),
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

/// By a job of its own.
Result<int> redrive_matching(const GlobalOptions& options, RedriveArguments arguments) {
  auto api = TRY(ApiClient::create(options));
  end_now(arguments.which.filter);
  if (!TRY(agreed(api, arguments.which, "Send back"))) return kOk;
  Outcome outcome;
  if (arguments.wait) outcome.pending = TRY(list_ids(api, arguments.which.filter.query(), "jobId"));
  const auto job = TRY(api.call("POST", "/v1/jobs", job_of(arguments).dump()));
  const auto id = cell(job, "id");
  if (!arguments.wait) {
    print_answer(options, job, [&](const json&) { std::cout << id << "\n"; });
    return kOk;
  }
  const auto ended = TRY(await_job(options, api, id));
  TRY(await_ends(api, id, outcome));
  const auto code = print_outcome(options, outcome);
  if (ended.value("state", "") == "succeeded") return code;
  std::cerr << "job " << id << " " << cell(ended, "state") << ": " << cell(ended, "error") << "\n";
  return kJobNotSucceeded;
}

/// One after the other; each is a step of its own.
Result<int> redrive_each(const GlobalOptions& options, const RedriveArguments& arguments,
                         const std::vector<std::string>& ids) {
  auto api = TRY(ApiClient::create(options));
  if (!TRY(agreed(arguments.which, ids.size(), "Send back"))) return kOk;
  Outcome outcome;
  for (const auto& id : ids) {
    const auto path = TRY(arguments.which.queue.path(options, id, "/redrive"));
    const auto message = TRY(api.call("POST", path));
    ++outcome.sent;
    if (arguments.wait) outcome.pending.push_back(cell(message, "jobId"));
  }
  if (!arguments.wait) {
    print_answer(options, {{"sent", outcome.sent}},
                 [&](const json&) { std::cout << "sent back: " << messages(outcome.sent) << "\n"; });
    return kOk;
  }
  TRY(await_ends(api, {}, outcome));
  return print_outcome(options, outcome);
}

}  // namespace

Result<int> redrive_many(const GlobalOptions& options, const RedriveArguments& arguments) {
  const auto& which = arguments.which;
  if (which.queue.name.empty() && which.ids.empty()) return redrive_matching(options, arguments);
  if (!which.ids.empty()) return redrive_each(options, arguments, which.ids);
  auto api = TRY(ApiClient::create(options));
  return redrive_each(options, arguments, TRY(list_ids(api, which.filter.query(which.queue), "id")));
}

Result<int> redrive_one(const GlobalOptions& options, const RedriveArguments& arguments, const std::string& content) {
  auto api = TRY(ApiClient::create(options));
  const auto path = TRY(arguments.which.queue.path(options, arguments.which.ids.front(), "/redrive"));
  const auto message = TRY(api.call("POST", path, content));
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

Result<int> delete_many(const GlobalOptions& options, PoisonSelection which) {
  auto api = TRY(ApiClient::create(options));
  std::uint64_t deleted = 0;
  if (which.queue.name.empty() && which.ids.empty()) {
    end_now(which.filter);
    if (!TRY(agreed(api, which, "Delete"))) return kOk;
    std::string continuation;
    do {
      auto path = "/v1/poison" + which.filter.query() + "&limit=1000";
      if (!continuation.empty()) path += "&continuation=" + percent_encode(continuation);
      const auto swept = TRY(api.call("DELETE", path));
      deleted += swept.value("deleted", 0ULL);
      continuation = swept.value("continuation", "");
    } while (!continuation.empty());
  } else {
    const auto ids = which.ids.empty() ? TRY(list_ids(api, which.filter.query(which.queue), "id")) : which.ids;
    if (!TRY(agreed(which, ids.size(), "Delete"))) return kOk;
    for (const auto& id : ids) {
      TRY(api.call("DELETE", TRY(which.queue.path(options, id))));
      ++deleted;
    }
  }
  print_answer(options, {{"deleted", deleted}},
               [&](const json&) { std::cout << "deleted " << messages(deleted) << "\n"; });
  return kOk;
}

}  // namespace tidemark::cli
