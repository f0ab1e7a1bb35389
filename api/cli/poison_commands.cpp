#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>

#include "api/cli/api_client.h"
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

void print_details(const json& poison) {
  print_summary(poison);
  std::cout << "fingerprint: " << poison.value("fingerprint", "") << "\nmoved at: " << poison.value("movedAt", "")
            << "\nbody: " << poison.value("body", json()).dump() << "\nattempts:\n";
  for (const auto& attempt : poison.value("attempts", json::array())) {
    std::cout << "  " << attempt.value("number", 0) << "  " << attempt.value("startedAt", "") << "  "
              << attempt.value("worker", "") << "  " << attempt.value("errorClass", "") << "  "
              << attempt.value("code", "") << ": " << attempt.value("message", "") << "  ("
              << attempt.value("durationMs", 0) << " ms)\n";
  }
}

Result<std::string> read_body(const std::string& file) {
  std::ifstream opened;
  if (file != "-") opened.open(file);
  std::istream& input = file == "-" ? std::cin : opened;
  if (!input) return fail(ErrorCode::kConfigInvalid, "cannot read " + file);
  return std::string(std::istreambuf_iterator<char>(input), {});
}

struct Filter {
  std::string kind, fingerprint, moved_after, moved_before;
};

std::shared_ptr<Filter> add_filter(CLI::App& command) {
  auto filter = std::make_shared<Filter>();
  command.add_option("--kind", filter->kind, "of this kind of job; unknown for what is no job");
  command.add_option("--fingerprint", filter->fingerprint, "with this kind of failure, as `poison groups` shows it");
  command.add_option("--moved-after", filter->moved_after, "that became poison at or after this time");
  command.add_option("--moved-before", filter->moved_before, "and before this time");
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
    auto read = read_body(file);
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
  auto limit = std::make_shared<int>(50);

  auto* listing = poison->add_subcommand("list", "list poison messages");
  listing->add_option("--limit", *limit, "how many")->check(CLI::Range(1, 1000))->capture_default_str();
  auto filter = add_filter(*listing);
  listing->callback([&run, &options, limit, filter] {
    run = [&options, limit, filter] {
      const auto path = "/v1/poison?limit=" + std::to_string(*limit) + query_of(*filter);
      return call_and_print(options, "GET", path, {}, [](const json& page) {
        for (const auto& item : page.value("poison", json::array())) print_summary(item);
      });
    };
  });

  auto* grouping = poison->add_subcommand("groups", "count the messages by kind of failure");
  auto which = add_filter(*grouping);
  grouping->callback([&run, &options, which] {
    run = [&options, which] {
      auto query = query_of(*which);
      if (!query.empty()) query[0] = '?';
      return call_and_print(options, "GET", "/v1/poison/groups" + query, {}, [](const json& page) {
        for (const auto& group : page.value("groups", json::array())) {
          std::cout << group.value("count", 0ULL) << "  " << group.value("fingerprint", "") << "  "
                    << group.value("kind", "") << "  " << group.value("reason", "") << "\n";
        }
      });
    };
  });

  auto* planning = poison->add_subcommand("plan", "what a message's job would do now; does nothing");
  planning->add_option("id", *id, "the message's id")->required();
  planning->callback([&run, &options, id] {
    run = [&options, id] {
      auto api = ApiClient::create(options);
      if (!api) return report(options, api.error());
      auto plan = api->call("GET", "/v1/poison/" + percent_encode(*id) + "/plan");
      return plan ? print_plan(options, *plan) : report(options, plan.error());
    };
  });

  auto* editing = poison->add_subcommand("edit", "replace a message's job; it stays where it is");
  editing->add_option("id", *id, "the message's id")->required();
  editing->add_option("--file", *file, "the new job as JSON, - for standard input")->required();
  editing->callback([&run, &options, id, file] {
    run = [&options, id, file] {
      auto body = read_body(*file);
      if (!body) return report(options, body.error());
      return call_and_print(options, "PUT", "/v1/poison/" + percent_encode(*id), *body, print_details);
    };
  });

  auto* showing = poison->add_subcommand("show", "show a message with its reason and history");
  showing->add_option("id", *id, "the message's id")->required();
  showing->callback([&run, &options, id] {
    run = [&options, id] {
      return call_and_print(options, "GET", "/v1/poison/" + percent_encode(*id), {}, print_details);
    };
  });

  auto* redriving =
      poison->add_subcommand("redrive", "send a message back to its queue; for many: tidemark job submit redrive");
  redriving->add_option("id", *id, "the message's id")->required();
  redriving->add_option("--file", *file, "replace the job by this JSON, - for standard input");
  redriving->callback(
      [&run, &options, id, file] { run = [&options, id, file] { return redrive(options, *id, *file); }; });

  auto* removing = poison->add_subcommand("delete", "forget a message; its job stays poisoned");
  removing->add_option("id", *id, "the message's id")->required();
  removing->callback([&run, &options, id] {
    run = [&options, id] {
      return call_and_print(options, "DELETE", "/v1/poison/" + percent_encode(*id), {},
                            [](const json&) { std::cout << "deleted\n"; });
    };
  });
}

}  // namespace tidemark::cli
