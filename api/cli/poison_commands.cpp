#include <CLI/CLI.hpp>
#include <iostream>

#include "api/cli/answers.h"
#include "api/cli/commands.h"
#include "api/cli/print_plan.h"
#include "common/base/encoding.h"

namespace tidemark::cli {
namespace {

using nlohmann::json;

void print_summary(const json& poison) {
  std::cout << poison.value("id", "") << "  job " << poison.value("jobId", "") << "  " << poison.value("kind", "")
            << "  " << poison.value("reason", "") << "\n";
}

void print_list(const json& items) {
  TextTable table({"message", "job", "kind", "moved", "fingerprint", "reason"});
  for (const auto& item : items) {
    table.add({cell(item, "id"), cell(item, "jobId"), cell(item, "kind"), time_cell(item, "movedAt"),
               cell(item, "fingerprint"), cell(item, "reason")});
  }
  table.print(std::cout);
}

void print_details(const json& poison) {
  print_summary(poison);
  std::cout << "fingerprint: " << poison.value("fingerprint", "") << "\nmoved at: " << time_cell(poison, "movedAt")
            << "\nfrom: " << poison.value("queue", "") << ", sent back " << poison.value("redrives", 0) << " times"
            << "\nbody: " << poison.value("body", json()).dump() << "\nattempts:\n";
  for (const auto& attempt : poison.value("attempts", json::array())) {
    std::cout << "  " << attempt.value("number", 0) << "  " << time_cell(attempt, "startedAt") << "  "
              << attempt.value("worker", "") << "  " << attempt.value("errorClass", "") << "  "
              << attempt.value("code", "") << ": " << attempt.value("message", "") << "  ("
              << attempt.value("durationMs", 0) << " ms)\n";
  }
}

struct Filter {
  std::string kind, fingerprint, moved_after, moved_before;
};

std::shared_ptr<Filter> add_filter(CLI::App& command) {
  auto filter = std::make_shared<Filter>();
  command.add_option("--kind", filter->kind, "of this kind of job; unknown for what is no job");
  command.add_option("--fingerprint", filter->fingerprint, "with this kind of failure, as `poison groups` shows it");
  accept_local_time(
      *command.add_option("--moved-after", filter->moved_after, "that became poison at or after this time"));
  accept_local_time(*command.add_option("--moved-before", filter->moved_before, "and before this time"));
  return filter;
}

/// "&name=value..."
std::string query_of(const Filter& filter) {
  std::string query;
  for (const auto& [name, value] : {std::pair<const char*, const std::string&>("kind", filter.kind),
                                    std::pair<const char*, const std::string&>("fingerprint", filter.fingerprint),
                                    std::pair<const char*, const std::string&>("movedAfter", filter.moved_after),
                                    std::pair<const char*, const std::string&>("movedBefore", filter.moved_before)}) {
    if (!value.empty()) query += std::string("&") + name + "=" + percent_encode(value);
  }
  return query;
}

int redrive(const GlobalOptions& options, const std::string& id, const std::string& file) {
  std::string body;
  if (!file.empty()) {
    auto read = read_file(file);
    if (!read) return report(options, read.error());
    body = std::move(*read);
  }
  return call_and_print(options, "POST", "/v1/poison/" + percent_encode(id) + "/redrive", body, [](const json& poison) {
    std::cout << "sent back: job " << poison.value("jobId", "") << "\n";
  });
}

}  // namespace

void add_poison_commands(CLI::App& app, const GlobalOptions& options, Run& run) {
  auto* poison =
      app.add_subcommand("poison", "inspect messages that kept failing, and send them back")->require_subcommand(1);
  auto id = std::make_shared<std::string>();
  auto file = std::make_shared<std::string>();
  auto limit = std::make_shared<std::size_t>(50);

  auto* listing = poison->add_subcommand("list", "list poison messages");
  listing->add_option("--limit", *limit, "how many; 0 for all")->capture_default_str();
  auto filter = add_filter(*listing);
  listing->callback([&run, &options, limit, filter] {
    run = [&options, limit, filter] {
      auto query = query_of(*filter);
      if (!query.empty()) query[0] = '?';
      return list_and_print(options, "/v1/poison" + query, "poison", *limit, print_list);
    };
  });

  auto* grouping = poison->add_subcommand("groups", "count the messages by kind of failure");
  auto which = add_filter(*grouping);
  grouping->callback([&run, &options, which] {
    run = [&options, which] {
      auto query = query_of(*which);
      if (!query.empty()) query[0] = '?';
      return call_and_print(options, "GET", "/v1/poison/groups" + query, {}, [](const json& page) {
        TextTable table({">count", "fingerprint", "kind", "last", "reason"});
        for (const auto& group : page.value("groups", json::array())) {
          table.add({cell(group, "count"), cell(group, "fingerprint"), cell(group, "kind"),
                     time_cell(group, "lastMovedAt"), cell(group, "reason")});
        }
        table.print(std::cout);
        if (!page.value("complete", true)) std::cout << "(there are more: only the first were counted)\n";
      });
    };
  });

  auto* planning = poison->add_subcommand("plan", "what a message's job would do now; does nothing");
  planning->add_option("id", *id, "the message's id, or the job's")->required();
  planning->callback([&run, &options, id] {
    run = [&options, id] {
      auto api = ApiClient::create(options);
      if (!api) return report(options, api.error());
      auto plan = api->call("GET", "/v1/poison/" + percent_encode(*id) + "/plan");
      return plan ? print_plan(options, *plan) : report(options, plan.error());
    };
  });

  auto* editing = poison->add_subcommand("edit", "replace a message's job; it stays where it is");
  editing->add_option("id", *id, "the message's id, or the job's")->required();
  editing->add_option("--file", *file, "the new job as JSON, - for standard input")->required();
  editing->callback([&run, &options, id, file] {
    run = [&options, id, file] {
      auto body = read_file(*file);
      if (!body) return report(options, body.error());
      return call_and_print(options, "PUT", "/v1/poison/" + percent_encode(*id), *body, print_details);
    };
  });

  auto* showing = poison->add_subcommand("show", "show a message with its reason and history");
  showing->add_option("id", *id, "the message's id, or the job's")->required();
  showing->callback([&run, &options, id] {
    run = [&options, id] {
      return call_and_print(options, "GET", "/v1/poison/" + percent_encode(*id), {}, print_details);
    };
  });

  auto* redriving =
      poison->add_subcommand("redrive", "send a message back to its queue; for many: tidemark job submit redrive");
  redriving->add_option("id", *id, "the message's id, or the job's")->required();
  redriving->add_option("--file", *file, "replace the job by this JSON, - for standard input");
  redriving->callback(
      [&run, &options, id, file] { run = [&options, id, file] { return redrive(options, *id, *file); }; });

  auto* removing = poison->add_subcommand("delete", "forget a message; its job stays poisoned");
  removing->add_option("id", *id, "the message's id, or the job's")->required();
  removing->callback([&run, &options, id] {
    run = [&options, id] {
      return call_and_print(options, "DELETE", "/v1/poison/" + percent_encode(*id), {},
                            [](const json&) { std::cout << "deleted\n"; });
    };
  });
}

}  // namespace tidemark::cli
