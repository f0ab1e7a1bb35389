#include <CLI/CLI.hpp>
#include <iostream>

#include "api/cli/answers.h"
#include "api/cli/commands.h"
#include "common/base/encoding.h"

namespace tidemark::cli {
namespace {

using nlohmann::json;

void print_kinds(const json& kinds) {
  TextTable table({"kind", "state"});
  for (const auto& kind : kinds) table.add({cell(kind, "kind"), kind.value("paused", false) ? "paused" : "active"});
  table.print(std::cout);
}

void print_kind(const json& kind) { print_kinds(json::array({kind})); }

void print_workers(const json& workers) {
  TextTable table({"worker", "state", ">running", ">of", "host", ">pid", "version", "since", "last heard"});
  for (const auto& worker : workers) {
    table.add({cell(worker, "name"), worker.value("alive", false) ? "alive" : "lost", cell(worker, "running"),
               cell(worker, "concurrency"), cell(worker, "host"), cell(worker, "pid"), cell(worker, "version"),
               time_cell(worker, "startedAt"), time_cell(worker, "heartbeatAt")});
  }
  table.print(std::cout);
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
  auto* kinds = app.add_subcommand("kind", "pause and resume kinds of job")->require_subcommand(1);
  auto* listing = kinds->add_subcommand("list", "what is set for each kind");
  listing->callback([&run, &options] {
    run = [&options] {
      return call_and_print(options, "GET", "/v1/kinds", {},
                            [](const json& page) { print_kinds(page.value("kinds", json::array())); });
    };
  });
  add_change(*kinds, options, run, "pause", "jobs of this kind wait; running ones stop within a page",
             {{"paused", true}});
  add_change(*kinds, options, run, "resume", "jobs of this kind go on, within about a second", {{"paused", false}});
  auto* workers = app.add_subcommand("worker", "the workers")->require_subcommand(1);
  auto* alive = workers->add_subcommand("list", "workers that live, and those that were lost lately");
  alive->callback([&run, &options] {
    run = [&options] { return list_and_print(options, "/v1/workers", "workers", 0, print_workers); };
  });
}

}  // namespace tidemark::cli
