#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>

#include "api/cli/api_client.h"
#include "api/cli/commands.h"
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

int call_and_print(const GlobalOptions& options, const std::string& method, const std::string& path,
                   const std::string& body, const std::function<void(const json&)>& print) {
  auto api = ApiClient::create(options);
  if (!api) return report(options, api.error());
  auto answer = api->call(method, path, body);
  if (!answer) return report(options, answer.error());
  if (options.json) {
    if (!answer->is_null()) std::cout << *answer << "\n";
  } else {
    print(*answer);
  }
  return kOk;
}

int redrive(const GlobalOptions& options, const std::string& id, const std::string& file) {
  std::string body;
  if (!file.empty()) {
    std::ifstream opened;
    if (file != "-") opened.open(file);
    std::istream& input = file == "-" ? std::cin : opened;
    if (!input) return report(options, make_error(ErrorCode::kConfigInvalid, "cannot read " + file));
    body.assign(std::istreambuf_iterator<char>(input), {});
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
  listing->callback([&run, &options, limit] {
    run = [&options, limit] {
      return call_and_print(options, "GET", "/v1/poison?limit=" + std::to_string(*limit), {}, [](const json& page) {
        for (const auto& item : page.value("poison", json::array())) print_summary(item);
      });
    };
  });

  auto* showing = poison->add_subcommand("show", "show a message with its reason and history");
  showing->add_option("id", *id, "the message's id")->required();
  showing->callback([&run, &options, id] {
    run = [&options, id] {
      return call_and_print(options, "GET", "/v1/poison/" + percent_encode(*id), {}, print_details);
    };
  });

  auto* redriving = poison->add_subcommand("redrive", "send a message back to its queue");
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
