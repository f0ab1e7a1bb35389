#include <CLI/CLI.hpp>
#include <iostream>

#include "api/cli/commands.h"
#include "api/cli/print_plan.h"

namespace tidemark::cli {
namespace {

using nlohmann::json;

constexpr const char* kId = "the message's id, or the job's";

void print_details(const json& poison) {
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

struct Filter {
  std::string kind, fingerprint, moved_after, moved_before;

  void declare(CLI::App& command) {
    command.add_option("--kind", kind, "of this kind of job; unknown if it is not a job");
    command.add_option("--fingerprint", fingerprint, "with this kind of failure, as shown by `poison groups`");
    accept_local_time(*command.add_option("--moved-after", moved_after, "that became poison at or after this time"));
    accept_local_time(*command.add_option("--moved-before", moved_before, "and before this time"));
  }
  [[nodiscard]] std::string query() const {
    return query_of(
        {{"kind", kind}, {"fingerprint", fingerprint}, {"movedAfter", moved_after}, {"movedBefore", moved_before}});
  }
};

void add_lists(const Commands& poison) {
  const auto table = table_of({{"message", "/id"},
                               {"job", "/jobId"},
                               {"kind", "/kind"},
                               {"moved", "/movedAt", time_of},
                               {"fingerprint", "/fingerprint"},
                               {"reason", "/reason"}});
  auto limit = std::make_shared<std::size_t>(50);
  auto filter = std::make_shared<Filter>();
  auto& listing = poison.add("list", "list poison messages", [table, limit, filter](const GlobalOptions& options) {
    return list_and_print(options, "/v1/poison" + filter->query(), "poison", *limit, table);
  });
  listing.add_option("--limit", *limit, "how many; 0 for all")->check(CLI::NonNegativeNumber)->capture_default_str();
  filter->declare(listing);
  filter->declare(
      poison.add("groups", "count poison messages by kind of failure", [filter](const GlobalOptions& options) {
        return call_and_print(options, "GET", "/v1/poison/groups" + filter->query(), print_groups);
      }));
}

Result<int> plan(const GlobalOptions& options, const std::string& id) {
  auto api = TRY(ApiClient::create(options));
  return print_plan(options, TRY(api.call("GET", item_path("poison", id, "/plan"))));
}

/// Commands that take a job in a file.
void add_edits(const Commands& poison) {
  auto id = std::make_shared<std::string>();
  auto file = std::make_shared<std::string>();
  auto& editing = poison.add("edit", "replace a message's job; the message stays where it is",
                             [id, file](const GlobalOptions& options) -> Result<int> {
                               return call_and_print(options, "PUT", item_path("poison", *id), print_details,
                                                     TRY(read_file(*file)));
                             });
  editing.add_option("id", *id, kId)->required();
  editing.add_option("--file", *file, "the new job as JSON, - for standard input")->required();

  auto& redriving = poison.add(
      "redrive", "send a message back to its queue; for many: tidemark job submit redrive",
      [id, file](const GlobalOptions& options) -> Result<int> {
        const auto job = file->empty() ? std::string() : TRY(read_file(*file));
        return call_and_print(
            options, "POST", item_path("poison", *id, "/redrive"),
            [](const json& message) { std::cout << "sent back: job " << cell(message, "jobId") << "\n"; }, job);
      });
  redriving.add_option("id", *id, kId)->required();
  redriving.add_option("--file", *file, "replace the job by this JSON, - for standard input");
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
  poison.add_for_one("poison", "id", kId,
                     {{"show", "show a message with its reason and history", "GET", "", print_details},
                      {"delete", "forget a message; its job stays poisoned", "DELETE", "", said("deleted")}});
}

}  // namespace tidemark::cli
