#include <CLI/CLI.hpp>
#include <iostream>

#include "api/cli/commands.h"
#include "api/cli/print_plan.h"

namespace tidemark::cli {
namespace {

using nlohmann::json;

constexpr const char* kId = "the message's id, or the job's";

/// Of a queue that is not the jobs'.
void print_message(const json& message) {
  std::cout << cell(message, "id") << "  from " << cell(message, "queue") << ", dequeued "
            << message.value("dequeueCount", 0) << " times\n"
            << "put at: " << time_cell(message, "insertedAt") << "\nmoved at: " << time_cell(message, "movedAt") << "  "
            << cell(message, "reason") << "\nbody: " << cell(message, "body") << "\n";
}

void print_details(const json& poison) {
  if (!poison.contains("jobId")) return print_message(poison);
  std::cout << cell(poison, "id") << "  job " << cell(poison, "jobId") << "  " << cell(poison, "kind") << "  "
            << cell(poison, "reason") << "\nfingerprint: " << cell(poison, "fingerprint")
            << "\nmoved at: " << time_cell(poison, "movedAt") << "\nfrom: " << cell(poison, "queue") << ", sent back "
            << poison.value("redrives", 0) << " times\nbody: " << poison.value("body", json()).dump()
            << "\nattempts:\n";
  for (const auto& attempt : poison.value("attempts", json::array())) {
    std::cout << "  " << history_line(attempt) << "\n";
  }
}

void print_groups(const json& page) {
  member_of("groups", table_of({{">count", "/count"},
                                {"fingerprint", "/fingerprint"},
                                {"kind", "/kind"},
                                {"last", "/lastMovedAt", time_of},
                                {"reason", "/reason"}}))(page);
  if (!page.value("complete", true)) std::cout << "(there are more: only the first were counted)\n";
}

/// Which message, and of which queue.
struct Which {
  std::string id, queue;

  void declare(CLI::App& command) {
    command.add_option("id", id, kId)->required();
    declare_queue(command);
  }
  void declare_queue(CLI::App& command) {
    command.add_option("--queue", queue, "a queue of yours, whose poison is in NAME-poison; without it, the jobs' own");
  }
  [[nodiscard]] std::string path(const std::string& ending = {}) const {
    return item_path("poison", id, ending) + query_of({{"queue", queue}});
  }
};

struct Filter {
  std::string kind, fingerprint, moved_after, moved_before;
  Which which = {};  // of the list

  void declare(CLI::App& command) {
    command.add_option("--kind", kind, "of this kind of job; unknown if it is not a job");
    command.add_option("--fingerprint", fingerprint, "with this kind of failure, as shown by `poison groups`");
    accept_local_time(*command.add_option("--moved-after", moved_after, "that became poison at or after this time"));
    accept_local_time(*command.add_option("--moved-before", moved_before, "and before this time"));
  }
  [[nodiscard]] std::string query() const {
    return query_of({{"kind", kind},
                     {"fingerprint", fingerprint},
                     {"movedAfter", moved_after},
                     {"movedBefore", moved_before},
                     {"queue", which.queue}});
  }
};

void add_lists(const Commands& poison) {
  const auto table = table_of({{"message", "/id"},
                               {"job", "/jobId"},
                               {"kind", "/kind"},
                               {"moved", "/movedAt", time_of},
                               {"fingerprint", "/fingerprint"},
                               {"reason", "/reason"}});
  const auto messages = table_of({{"message", "/id"},
                                  {">dequeued", "/dequeueCount"},
                                  {"put", "/insertedAt", time_of},
                                  {"moved", "/movedAt", time_of},
                                  {"body", "/body"}});
  auto limit = std::make_shared<std::size_t>(50);
  auto filter = std::make_shared<Filter>();
  auto& listing = poison.add("list", "list poison messages", [=](const GlobalOptions& options) {
    return list_and_print(options, "/v1/poison" + filter->query(), "poison", *limit,
                          filter->which.queue.empty() ? table : messages);
  });
  filter->which.declare_queue(listing);
  listing.add_option("--limit", *limit, "how many; 0 for all")->check(CLI::NonNegativeNumber)->capture_default_str();
  filter->declare(listing);
  poison.add("queues", "your queues that have poison messages", [](const GlobalOptions& options) {
    return list_and_print(options, "/v1/poison/queues", "queues", 0,
                          table_of({{"queue", "/name"}, {">messages", "/messages"}}));
  });
  filter->declare(
      poison.add("groups", "count poison messages by kind of failure", [filter](const GlobalOptions& options) {
        return call_and_print(options, "GET", "/v1/poison/groups" + filter->query(), print_groups);
      }));
}

Result<int> plan(const GlobalOptions& options, const std::string& id) {
  auto api = TRY(ApiClient::create(options));
  return print_plan(options, TRY(api.call("GET", item_path("poison", id, "/plan"))));
}

/// A file's job; of a queue that is not the jobs', its text.
Result<std::string> content_of(const std::string& file, const Which& which) {
  auto content = TRY(read_file(file));
  if (which.queue.empty()) return content;
  return json{{"body", std::move(content)}}.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// Commands that take a job, or a text, in a file.
void add_edits(const Commands& poison) {
  auto which = std::make_shared<Which>();
  auto file = std::make_shared<std::string>();
  auto& editing =
      poison.add("edit", "replace a message's job; the message stays where it is",
                 [which, file](const GlobalOptions& options) -> Result<int> {
                   return call_and_print(options, "PUT", which->path(), print_details, TRY(content_of(*file, *which)));
                 });
  which->declare(editing);
  editing.add_option("--file", *file, "the new job as JSON, or with --queue the new text; - for standard input")
      ->required();

  auto& redriving = poison.add("redrive", "send a message back to its queue; for many: tidemark job submit redrive",
                               [which, file](const GlobalOptions& options) -> Result<int> {
                                 const auto content = file->empty() ? std::string() : TRY(content_of(*file, *which));
                                 const auto print = [](const json& message) {
                                   const bool job = message.contains("jobId");
                                   std::cout << "sent back: " << (job ? "job " : "message ")
                                             << cell(message, job ? "jobId" : "id") << "\n";
                                 };
                                 return call_and_print(options, "POST", which->path("/redrive"), print, content);
                               });
  which->declare(redriving);
  redriving.add_option("--file", *file, "replace the job by this JSON, or with --queue the text; - for standard input");
}

/// Counts first, and asks a person before it deletes.
Result<int> delete_all(const GlobalOptions& options, const std::string& query, bool yes) {
  auto api = TRY(ApiClient::create(options));
  const auto path = "/v1/poison" + query;
  if (!yes) {
    const auto dry = path + (query.empty() ? "?" : "&") + "dryRun=true";
    const auto found = TRY(api.call("DELETE", dry));
    std::cerr << "This forgets " << found.value("matched", 0) << (found.value("complete", true) ? "" : " or more")
              << " messages for good. Type yes to go on: " << std::flush;
    std::string answer;
    if (!std::getline(std::cin, answer) || answer != "yes") {
      return fail(ErrorCode::kInvalidInput, "nothing was deleted; --yes deletes without asking");
    }
  }
  std::int64_t deleted = 0;
  json done;
  do {
    done = TRY(api.call("DELETE", path));
    deleted += done.value("deleted", std::int64_t{0});
  } while (!done.value("complete", true) && done.value("deleted", std::int64_t{0}) > 0);
  print_answer(options, {{"deleted", deleted}},
               [](const json& answer) { std::cout << "deleted: " << cell(answer, "deleted") << "\n"; });
  return kOk;
}

void add_delete_all(const Commands& poison) {
  auto filter = std::make_shared<Filter>();
  auto yes = std::make_shared<bool>(false);
  auto& deleting = poison.add("delete-all", "forget all messages that match; their jobs stay poisoned",
                              [=](const GlobalOptions& options) { return delete_all(options, filter->query(), *yes); });
  filter->which.declare_queue(deleting);
  filter->declare(deleting);
  deleting.add_flag("--yes", *yes, "without asking");
}

void add_for_one(const Commands& poison) {
  auto which = std::make_shared<Which>();
  which->declare(poison.add(
      "show", "show a message with its reason and history",
      [which](const GlobalOptions& options) { return call_and_print(options, "GET", which->path(), print_details); }));
  which->declare(
      poison.add("delete", "forget a message; its job stays poisoned", [which](const GlobalOptions& options) {
        return call_and_print(options, "DELETE", which->path(), said("deleted"));
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
  add_edits(poison);
  add_for_one(poison);
  add_delete_all(poison);
}

}  // namespace tidemark::cli
