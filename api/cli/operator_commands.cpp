#include <CLI/CLI.hpp>

#include "api/cli/commands.h"

namespace tidemark::cli {
namespace {

using nlohmann::json;

std::string activity(const json& paused) { return paused == true ? "paused" : "active"; }

std::string life(const json& alive) { return alive == true ? "alive" : "lost"; }

void add_change(const Commands& kinds, const char* name, const char* meaning, const json& body, const Print& print) {
  auto kind = std::make_shared<std::string>();
  kinds
      .add(name, meaning,
           [kind, body, print](const GlobalOptions& options) {
             return call_and_print(options, "PATCH", item_path("kinds", *kind), print, body.dump());
           })
      .add_option("kind", *kind, "the kind of job")
      ->required();
}

}  // namespace

void add_operator_commands(const Commands& program) {
  const auto kind_table = table_of({{"kind", "/kind"}, {"state", "/paused", activity}});
  const auto kinds = program.family("kind", "pause and resume kinds of job");
  kinds.add("list", "all kinds, and whether they are paused", [kind_table](const GlobalOptions& options) {
    return call_and_print(options, "GET", "/v1/kinds", member_of("kinds", kind_table));
  });
  add_change(kinds, "pause", "jobs of this kind wait; running ones stop within a page", {{"paused", true}}, kind_table);
  add_change(kinds, "resume", "jobs of this kind continue, within about a second", {{"paused", false}}, kind_table);

  const auto worker_table = table_of({{"worker", "/name"},
                                      {"state", "/alive", life},
                                      {">running", "/running"},
                                      {">of", "/concurrency"},
                                      {"host", "/host"},
                                      {">pid", "/pid"},
                                      {"version", "/version"},
                                      {"since", "/startedAt", time_of},
                                      {"last heard", "/heartbeatAt", time_of}});
  program.family("worker", "the workers of the stack")
      .add("list", "workers that are alive, and those lost recently", [worker_table](const GlobalOptions& options) {
        return list_and_print(options, "/v1/workers", "workers", 0, worker_table);
      });
}

}  // namespace tidemark::cli
