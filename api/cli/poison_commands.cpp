#include <CLI/CLI.hpp>
#include <deque>
#include <iostream>

#include "api/cli/commands.h"
#include "api/cli/job_options.h"
#include "api/cli/numbers.h"
#include "api/cli/paged_list.h"
#include "api/cli/poison_bulk.h"
#include "api/cli/poison_edit.h"
#include "api/cli/print_plan.h"
#include "common/base/encoding.h"
#include "common/base/json.h"

namespace tidemark::cli {
namespace {

using nlohmann::json;

constexpr const char* kId = "the message's id, or the job's";

std::string shown_text(const std::string& text) {
  const auto decoded = decoded_text(text);
  return decoded ? *decoded + "\n(in Base64: " + text + ")" : text;
}

/// Prints the original of a message that was edited; a job in the form of its body.
void print_original(const json& message) {
  if (!message.contains("original")) return;
  const auto text = cell(message, "original");
  const auto job = message.contains("jobId") ? json_or_discarded(decoded_text(text).value_or(text)) : json();
  std::cout << "before it was edited: " << (job.is_object() ? job.dump(2) : shown_text(text)) << "\n";
}

/// Prints a message of a queue other than those of jobs.
void print_message(const json& message) {
  std::cout << cell(message, "id") << "  from " << cell(message, "queue") << ", dequeued "
            << counted(message.value("dequeueCount", 0ULL), "time") << "\n"
            << "put at: " << time_cell(message, "insertedAt") << "\n";
  if (message.contains("movedAt")) {
    std::cout << "moved at: " << time_cell(message, "movedAt") << "  " << cell(message, "reason") << "\n";
  }
  std::cout << "body: " << shown_text(cell(message, "body")) << "\n";
  print_original(message);
}

void print_poison(const json& poison) {
  if (!poison.contains("jobId")) return print_message(poison);
  std::cout << cell(poison, "id") << "  job " << cell(poison, "jobId") << "  " << cell(poison, "kind") << "  "
            << cell(poison, "reason") << "\nfingerprint: " << cell(poison, "fingerprint")
            << "\nmoved at: " << time_cell(poison, "movedAt") << "\nfrom: " << cell(poison, "queue") << ", sent back "
            << counted(poison.value("redrives", 0ULL), "time") << "\nbody: " << poison.value("body", json()).dump(2)
            << "\n";
  print_original(poison);
  std::cout << "attempts:\n";
  for (const auto& attempt : poison.value("attempts", json::array())) {
    std::cout << "  " << history_line(attempt) << "\n";
  }
}

void print_groups(const json& page) {
  member_of("groups", table_of({{">count", "/count"},
                                {"fingerprint", "/fingerprint"},
                                {"kind", "/kind"},
                                {"source", "/source"},
                                {"last", "/lastMovedAt", time_of},
                                {"reason", "/reason"}},
                               "no poison messages"))(page);
  if (!page.value("complete", true)) std::cout << "(there are more: only the first were counted)\n";
}

/// Names a message and its queue.
struct WhichMessage {
  std::string id;
  PoisonQueue queue;

  void declare(CLI::App& command) {
    command.add_option("id", id, kId)->required();
    queue.declare(command);
  }
};

/// Prints the newest `most` entries (0: all) of a list that the api gives oldest first, as one document, like
/// list_and_print().
Result<int> list_newest_first(const GlobalOptions& options, const std::string& path, std::size_t most,
                              const Print& print) {
  auto api = TRY(ApiClient::create(options));
  std::deque<json> newest;
  bool more = false;
  std::string continuation;
  do {
    auto target = path + (path.find('?') == std::string::npos ? "?" : "&") + "limit=1000";
    if (!continuation.empty()) target += "&continuation=" + percent_encode(continuation);
    auto page = TRY(api.call("GET", target));
    for (auto& message : page["poison"]) {
      newest.push_front(std::move(message));
      if (most == 0 || newest.size() <= most) continue;
      newest.pop_back();
      more = true;
    }
    continuation = page.value("continuation", "");
  } while (!continuation.empty());
  print_answer(options, {{"poison", newest}}, member_of("poison", print));
  if (more && !options.json) std::cerr << "(the newest " << most << " shown; there are more: --all shows all)\n";
  return kOk;
}

std::string text_in(const json& body) { return decoded_text(text_of(body)).value_or(text_of(body)); }

void add_lists(const Commands& poison) {
  const auto table = table_of({{"message", "/id", id_of},
                               {"job", "/jobId", id_of},
                               {"kind", "/kind"},
                               {"source", "/source"},
                               {"moved", "/movedAt", time_of},
                               {"fingerprint", "/fingerprint"},
                               {"reason", "/reason"}},
                              "no poison messages");
  const auto messages = table_of({{"message", "/id", id_of},
                                  {">dequeued", "/dequeueCount"},
                                  {"put", "/insertedAt", time_of},
                                  {"moved", "/movedAt", time_of},
                                  {"body", "/body", text_in}},
                                 "no poison messages");
  auto limit = std::make_shared<std::size_t>(50);
  auto filter = std::make_shared<PoisonFilter>();
  auto queue = std::make_shared<PoisonQueue>();
  auto& listing = poison.add("list", "list poison messages, newest first", [=](const GlobalOptions& options) {
    return list_newest_first(options, "/v1/poison" + filter->query(*queue), *limit,
                             queue->name.empty() ? table : messages);
  });
  queue->declare(listing);
  listing.add_option("--limit", *limit, "how many; 0 for all")->check(whole_number())->capture_default_str();
  listing.add_flag_callback("--all", [limit] { *limit = 0; }, "all, however many there are")->excludes("--limit");
  filter->declare(listing);
  poison.add("queues", "your queues that have poison messages", [](const GlobalOptions& options) {
    return list_and_print(options, "/v1/poison/queues", "queues", kWhole,
                          table_of({{"queue", "/name"}, {">messages", "/messages"}}));
  });
  filter->declare(
      poison.add("groups", "count poison messages by kind of failure", [filter](const GlobalOptions& options) {
        return call_and_print(options, "GET", "/v1/poison/groups" + filter->query(), print_groups);
      }));
}

Result<int> plan(const GlobalOptions& options, const std::string& id) {
  auto api = TRY(ApiClient::create(options));
  return print_plan(options, TRY(api.call("GET", TRY(PoisonQueue().path(options, id, "/plan")))));
}

Result<int> edit(const GlobalOptions& options, const WhichMessage& which, const std::string& file) {
  const auto edited = file.empty() ? TRY(edit_by_hand(options, which.id, which.queue))
                                   : std::optional(TRY(edited_in(file, which.queue)));
  if (!edited) {
    std::cerr << "unchanged\n";
    return kOk;
  }
  print_answer(options, TRY(save_edited(options, TRY(which.queue.path(options, which.id)), *edited)), print_poison);
  return kOk;
}

void add_edit(const Commands& poison) {
  auto which = std::make_shared<WhichMessage>();
  auto file = std::make_shared<std::string>();
  auto& editing = poison.add("edit", "replace a message's job, in $EDITOR; the message stays where it is",
                             [which, file](const GlobalOptions& options) { return edit(options, *which, *file); });
  which->declare(editing);
  editing.add_option("--file", *file,
                     "instead: the new job as JSON, or what show --json printed, or with --queue the new text; - for "
                     "standard input");
}

std::string problem_of(const BulkArguments& a) {
  if (auto wrong = a.which.problem(); !wrong.empty()) return wrong;
  const bool one = a.which.ids.size() == 1;
  if (!a.file.empty() && !one) return "--file is for one message";
  const bool paced = a.per_second > 0 || a.canary > 0 || a.limit > 0;
  return paced && one ? "--per-second, --canary and --limit are for many messages" : "";
}

void declare_pace(CLI::App& command, BulkArguments& a) {
  command.add_option("--per-second", a.per_second, "of many: so many a second")->check(positive_number());
  command.add_option("--limit", a.limit, "at most so many")->check(positive_number());
}

void add_redrive(const Commands& poison) {
  auto a = std::make_shared<BulkArguments>();
  auto& redriving =
      poison.add("redrive", "send messages back to their queues", [a](const GlobalOptions& options) -> Result<int> {
        if (const auto wrong = problem_of(*a); !wrong.empty()) {
          return wrong_arguments(options, wrong);
        }
        if (a->which.ids.size() != 1) return redrive_many(options, *a);
        const auto& queue = a->which.queue;
        return redrive_one(options, *a, a->file.empty() ? EditedMessage() : TRY(edited_in(a->file, queue)));
      });
  a->which.declare(redriving);
  redriving.add_option("--file", a->file,
                       "of one message: replace the job by this JSON, or with --queue the text; - for standard input");
  declare_pace(redriving, *a);
  redriving.add_option("--canary", a->canary, "send so many first, the rest only if they succeed")
      ->check(positive_number());
  redriving.add_flag("--wait", a->wait, "wait for the jobs that were sent back; fail if one failed again");
}

void add_delete_poison(const Commands& poison) {
  auto a = std::make_shared<BulkArguments>();
  auto& deleting = poison.add(
      "delete", "forget messages; their jobs stay poisoned", [a](const GlobalOptions& options) -> Result<int> {
        if (const auto wrong = problem_of(*a); !wrong.empty()) {
          return wrong_arguments(options, wrong);
        }
        return a->which.ids.size() == 1 ? delete_one(options, a->which) : delete_many(options, *a);
      });
  a->which.declare(deleting);
  declare_pace(deleting, *a);
  deleting.add_flag("--wait", a->wait, "wait until they are deleted, and say how many");
}

void add_show_poison(const Commands& poison) {
  auto which = std::make_shared<WhichMessage>();
  which->declare(poison.add(
      "show", "show a message with its reason and history", [which](const GlobalOptions& options) -> Result<int> {
        return call_and_print(options, "GET", TRY(which->queue.path(options, which->id)), print_poison);
      }));
}

}  // namespace

void add_poison_commands(const Commands& program) {
  const auto poison = program.family("poison", "inspect messages that kept failing, and send them back");
  add_lists(poison);
  auto id = std::make_shared<std::string>();
  poison
      .add("plan", "show what a message's job would do now",
           [id](const GlobalOptions& options) { return plan(options, *id); })
      .add_option("id", *id, kId)
      ->required();
  add_show_poison(poison);
  add_edit(poison);
  add_redrive(poison);
  add_delete_poison(poison);
}

}  // namespace tidemark::cli
