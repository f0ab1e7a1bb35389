#include <CLI/CLI.hpp>
#include <iostream>

#include "api/cli/api_client.h"
#include "api/cli/commands.h"
#include "common/base/encoding.h"

namespace tidemark::cli {
namespace {

using nlohmann::json;

int call_and_print(const GlobalOptions& options, const std::string& method, const std::string& path,
                   const std::string& body, const std::function<void(const json&)>& print) {
  auto api = ApiClient::create(options);
  if (!api) return report(options, api.error());
  auto answer = api->call(method, path, body);
  if (!answer) return report(options, answer.error());
  if (options.json) {
    std::cout << *answer << "\n";
  } else {
    print(*answer);
  }
  return kOk;
}

void print_group(const json& group) {
  std::cout << group.value("id", "") << "  " << group.value("members", 0) << " jobs";
  for (const auto& [state, count] : group.value("states", json::object()).items()) {
    if (count != 0) std::cout << ", " << count << " " << state;
  }
  std::cout << (group.contains("finishedAt") ? "; ended " + group["finishedAt"].get<std::string>() : "") << "\n";
}

void print_kind(const json& kind) {
  const auto limit = kind.value("maxRunning", 0);
  std::cout << kind.value("kind", "") << "  " << (kind.value("paused", false) ? "paused" : "running") << "  "
            << (limit == 0 ? "no limit" : "at most " + std::to_string(limit) + " at once") << "\n";
}

void add_change(CLI::App& kinds, const GlobalOptions& options, Run& run, const char* name, const char* meaning,
                json body) {
  auto kind = std::make_shared<std::string>();
  auto* command = kinds.add_subcommand(name, meaning);
  command->add_option("kind", *kind, "the kind of job")->required();
  command->callback([&run, &options, kind, body = std::move(body)] {
    run = [&options, kind, body] {
      return call_and_print(options, "PATCH", "/v1/kinds/" + percent_encode(*kind), body.dump(), print_kind);
    };
  });
}

}  // namespace

void add_operator_commands(CLI::App& app, const GlobalOptions& options, Run& run) {
  auto* groups = app.add_subcommand("group", "jobs that were submitted as one")->require_subcommand(1);
  auto* showing = groups->add_subcommand("show", "how many of its jobs are in which state");
  auto group = std::make_shared<std::string>();
  showing->add_option("id", *group, "the group's id")->required();
  showing->callback([&run, &options, group] {
    run = [&options, group] {
      return call_and_print(options, "GET", "/v1/groups/" + percent_encode(*group), {}, print_group);
    };
  });
  auto* kinds = app.add_subcommand("kind", "pause, resume and limit kinds of job")->require_subcommand(1);
  auto* listing = kinds->add_subcommand("list", "what is set for each kind");
  listing->callback([&run, &options] {
    run = [&options] {
      return call_and_print(options, "GET", "/v1/kinds", {}, [](const json& page) {
        for (const auto& kind : page.value("kinds", json::array())) print_kind(kind);
      });
    };
  });
  add_change(*kinds, options, run, "pause", "jobs of this kind wait; running ones stop within a page",
             {{"paused", true}});
  add_change(*kinds, options, run, "resume", "jobs of this kind go on, within half a minute", {{"paused", false}});
  auto kind = std::make_shared<std::string>();
  auto most = std::make_shared<int>(0);
  auto* limiting = kinds->add_subcommand("limit", "how many jobs of a kind may run at once over all workers");
  limiting->add_option("kind", *kind, "the kind of job")->required();
  limiting->add_option("max-running", *most, "0: no limit")->required()->check(CLI::Range(0, 1000));
  limiting->callback([&run, &options, kind, most] {
    run = [&options, kind, most] {
      const json body{{"maxRunning", *most}};
      return call_and_print(options, "PATCH", "/v1/kinds/" + percent_encode(*kind), body.dump(), print_kind);
    };
  });

  auto* workers = app.add_subcommand("worker", "the workers")->require_subcommand(1);
  auto* alive = workers->add_subcommand("list", "workers that live, and those that were lost lately");
  alive->callback([&run, &options] {
    run = [&options] {
      return call_and_print(options, "GET", "/v1/workers", {}, [](const json& page) {
        for (const auto& worker : page.value("workers", json::array())) {
          std::cout << worker.value("name", "") << "  " << (worker.value("alive", false) ? "alive" : "lost") << "  "
                    << worker.value("running", 0) << "/" << worker.value("concurrency", 0) << " jobs  "
                    << worker.value("host", "") << " pid " << worker.value("pid", 0) << "  since "
                    << worker.value("startedAt", "") << "\n";
        }
      });
    };
  });
}

}  // namespace tidemark::cli
