#include <CLI/CLI.hpp>
#include <iostream>

#include "api/cli/commands.h"
#include "api/cli/job_options.h"
#include "api/cli/numbers.h"
#include "common/base/encoding.h"

namespace tidemark::cli {
namespace {

using nlohmann::json;

struct Arguments {
  std::string table, name, url, secret, queue, filter, values, after;
  std::int64_t max_attempts = 0, timeout_ms = 0;
};

std::string path_of(const Arguments& a, const char* ending = "") {
  return item_path("tables", a.table, "/onChange/") + percent_encode(a.name) + ending;
}

std::string target_of(const json& definition) {
  return definition.contains("webhook") ? cell(definition["webhook"], "url") : "queue " + cell(definition, "queue");
}

Print on_change_table() {
  return table_of({{"name", "/name"},
                   {"table", "/table"},
                   {"state", "/state"},
                   {"to", "/definition", target_of},
                   {"filter", "/definition/filter"},
                   {">told", "/told"},
                   {">waiting", "/lag/changes"},
                   {">attempts", "/attempts"}});
}

void print_on_change(const json& on_change) {
  on_change_table()(on_change);
  if (on_change.contains("lastError")) {
    const auto& error = on_change["lastError"];
    std::cout << "last error: " << time_cell(error, "at") << "  "
              << with_command(cell(error, "message"), cell(on_change, "table")) << "\n";
  }
}

/// Prints the possible ways to go on for a declaration that stopped at a change.
void print_ways_on(ApiClient& api, const json& stopped) {
  const auto table = cell(stopped, "table"), before = cell(stopped, "failed");
  const auto resume = "tidemark on-change resume " + table + " " + cell(stopped, "name");
  std::cout << "show the change: tidemark changes " << table << " --limit 1 --after " << before << "\n"
            << "try it again:    " << resume << "\n";
  const auto query = query_of({{"after", before}, {"limit", "1"}});
  const auto page = api.call("GET", item_path("tables", table, "/changes") + query);
  if (page) std::cout << "skip it:         " << resume << " --after " << cell(*page, "next") << "\n";
}

Result<int> show(const GlobalOptions& options, const Arguments& a) {
  auto api = TRY(ApiClient::create(options));
  const auto on_change = TRY(api.call("GET", path_of(a)));
  print_answer(options, on_change, print_on_change);
  if (options.json || on_change.value("state", "") != "stopped") return kOk;
  if (on_change.contains("resumeAsked")) {
    std::cout << "it was resumed, and will be tried again\n";
  } else if (on_change.contains("failed")) {
    print_ways_on(api, on_change);
  }
  return kOk;
}

json body_of(const Arguments& a) {
  auto body = json::object();
  if (!a.url.empty()) body["webhook"]["url"] = a.url;
  if (!a.secret.empty()) body["webhook"]["secret"] = a.secret;
  for (const auto& [member, text] : {std::pair("queue", &a.queue), std::pair("filter", &a.filter),
                                     std::pair("values", &a.values), std::pair("after", &a.after)}) {
    if (!text->empty()) body[member] = *text;
  }
  if (a.max_attempts > 0) body["maxAttempts"] = a.max_attempts;
  if (a.timeout_ms > 0) body["timeoutMs"] = a.timeout_ms;
  return body;
}

/// Adds a command about one declaration, with its two names.
CLI::App& add_for_one(const Commands& family, const char* name, const char* meaning,
                      const std::shared_ptr<Arguments>& a, Action action) {
  auto& command = family.add(name, meaning, std::move(action));
  command.add_option("table", a->table, "the table")->required();
  command.add_option("name", a->name, "the name of the declaration")->required();
  return command;
}

void add_put_on_change(const Commands& family) {
  auto a = std::make_shared<Arguments>();
  auto& putting =
      add_for_one(family, "put", "tell of each change of a table, from now on", a, [a](const GlobalOptions& options) {
        return call_and_print(options, "PUT", path_of(*a), print_on_change, body_of(*a).dump());
      });
  putting.add_option("--webhook", a->url, "the URL that gets a signed request for each change");
  putting.add_option("--secret", a->secret, "name of the workers' secret that signs it");
  putting.add_option("--queue", a->queue, "the queue that gets a message for each change");
  putting.add_option("--filter", a->filter, "OData; changes of other entities are passed by");
  putting.add_option("--values", a->values, "which values are sent with each change")
      ->check(CLI::IsMember({"keys", "old", "new", "both"}));
  putting.add_option("--max-attempts", a->max_attempts, "for one change; then it stops")->check(positive_number());
  putting.add_option("--timeout-ms", a->timeout_ms, "for an answer")->check(positive_number());
  putting.add_option("--after", a->after, "where to begin: oldest, now or a token; now if absent");
}

void add_resume(const Commands& family) {
  auto a = std::make_shared<Arguments>();
  add_for_one(family, "resume", "go on after it stopped", a, [a](const GlobalOptions& options) {
    return call_and_print(options, "POST", path_of(*a, "/resume"),
                          said(a->after.empty() ? "It will be tried again." : "It will go on from there."),
                          body_of(*a).dump());
  }).add_option("--after", a->after, "from here on instead: oldest, now or a token");
}

}  // namespace

void add_on_change_commands(const Commands& program) {
  const auto family = program.family("on-change", "webhooks and messages for the changes of tables");
  add_put_on_change(family);
  family.add_for_one(
      "tables", "table", "the table",
      {{"list", "what follows the changes of a table", "GET", "/onChange", member_of("onChange", on_change_table())}});
  auto shown = std::make_shared<Arguments>();
  add_for_one(family, "show", "how far it is", shown,
              [shown](const GlobalOptions& options) { return show(options, *shown); });
  add_resume(family);
  auto removed = std::make_shared<Arguments>();
  add_for_one(family, "remove", "remove the declaration", removed, [removed](const GlobalOptions& options) {
    return call_and_print(options, "DELETE", path_of(*removed), said("It is gone."));
  });
}

}  // namespace tidemark::cli
