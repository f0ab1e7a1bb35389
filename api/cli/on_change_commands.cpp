#include <CLI/CLI.hpp>
#include <iostream>

#include "api/cli/commands.h"
#include "api/cli/job_options.h"
#include "api/cli/numbers.h"
#include "api/cli/print_plan.h"
#include "common/base/encoding.h"

namespace tidemark::cli {
namespace {

using nlohmann::json;

struct Arguments {
  std::string table, name, url, secret, queue, filter, values, after, file;
  std::int64_t max_attempts = 0, timeout_ms = 0;
};

std::string path_of(const Arguments& a, const char* ending = "") {
  return item_path("tables", a.table, "/onChange/") + percent_encode(a.name) + ending;
}

std::string target_of(const json& definition) {
  if (definition.contains("job")) return cell(definition["job"], "kind") + " job";
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

void add_resume_on_change(const Commands& family) {
  auto a = std::make_shared<Arguments>();
  add_for_one(family, "resume", "go on after it stopped or was paused", a, [a](const GlobalOptions& options) {
    return call_and_print(options, "POST", path_of(*a, "/resume"),
                          said(a->after.empty() ? "It will be tried again." : "It will go on from there."),
                          body_of(*a).dump());
  }).add_option("--after", a->after, "from here on instead: oldest, now or a token");
}

/// Reads a declaration from the file that was named.
Result<json> rule_in(const Arguments& a) {
  const auto text = TRY(read_file(a.file));
  auto out = json::parse(text, nullptr, false);
  if (!out.is_object()) return fail(ErrorCode::kInvalidInput, a.file + " is not a JSON object with the job of a rule");
  return out;
}

void print_tested(const json& tested) {
  for (const auto& each : tested["first"]) {
    std::cout << cell(each, "partitionKey") << "  " << cell(each, "rowKey") << "\n    ";
    if (each.contains("problem")) std::cout << "it would stop here: " << cell(each, "problem") << "\n";
    if (each.contains("job")) std::cout << each["job"].dump() << "\n";
    if (!each.contains("job") && !each.contains("problem")) std::cout << "it would be told\n";
  }
  std::cout << counted(tested["changes"].get<std::uint64_t>(), "change") << " looked at, " << tested["matches"]
            << " of them would count; nothing was done\n";
  if (tested["more"] == true) std::cout << "go on with --after " << cell(tested, "next") << "\n";
}

Result<int> test_rule(const GlobalOptions& options, const Arguments& a) {
  auto body = json::object();
  if (!a.after.empty()) body["after"] = a.after;
  if (!a.file.empty()) body["definition"] = TRY(rule_in(a));
  return call_and_print(options, "POST", path_of(a, "/test"), print_tested, body.dump());
}

void add_pause_on_change(const Commands& family) {
  auto a = std::make_shared<Arguments>();
  add_for_one(family, "pause", "make it wait until it is resumed", a, [a](const GlobalOptions& options) {
    return call_and_print(options, "POST", path_of(*a, "/pause"), said("It waits until it is resumed."));
  });
}

void add_remove_on_change(const Commands& family) {
  auto a = std::make_shared<Arguments>();
  add_for_one(family, "remove", "remove the declaration", a, [a](const GlobalOptions& options) {
    return call_and_print(options, "DELETE", path_of(*a), said("It is gone."));
  });
}

void add_list_and_show_on_change(const Commands& family) {
  family.add_for_one(
      "tables", "table", "the table",
      {{"list", "what follows the changes of a table", "GET", "/onChange", member_of("onChange", on_change_table())}});
  auto a = std::make_shared<Arguments>();
  add_for_one(family, "show", "how far it is", a, [a](const GlobalOptions& options) { return show(options, *a); });
}

void add_test_rule(const Commands& family) {
  auto a = std::make_shared<Arguments>();
  auto& testing = add_for_one(family, "test", "show the jobs that it would make of the changes that are kept", a,
                              [a](const GlobalOptions& options) { return test_rule(options, *a); });
  testing.add_option("--file", a->file, "try the declaration in this file instead, which need not be declared");
  testing.add_option("--after", a->after, "where to begin: oldest, now or a token; oldest if absent");
}

struct RunArguments : Arguments {
  bool dry_run = false;
  std::int64_t per_second = 0;
};

/// Applies a rule to the entities that exist, by a job.
Result<int> run_rule(const GlobalOptions& options, const RunArguments& a) {
  auto api = TRY(ApiClient::create(options));
  const auto on_change = TRY(api.call("GET", path_of(a)));
  json spec = {{"kind", "apply"}, {"source", a.table}, {"rule", a.name}};
  spec["filter"] = on_change.value("definition", json::object()).value("filter", "");
  if (a.per_second > 0) spec["maxPerSecond"] = a.per_second;
  if (a.dry_run) {
    const auto plan = TRY(api.call("POST", "/v1/jobs?dryRun=true", spec.dump()));
    return print_plan(options, plan);
  }
  const auto job = TRY(api.call("POST", "/v1/jobs", spec.dump()));
  print_answer(options, job, [](const json& made) { std::cout << cell(made, "id") << "\n"; });
  return kOk;
}

void add_run_rule(const Commands& family) {
  auto a = std::make_shared<RunArguments>();
  auto& running =
      family.add("run", "make the jobs for entities that exist already; prints the id of the job that does it",
                 [a](const GlobalOptions& options) { return run_rule(options, *a); });
  running.add_option("table", a->table, "the table")->required();
  running.add_option("name", a->name, "the name of the rule")->required();
  running.add_flag("--dry-run", a->dry_run, "only count the entities");
  running.add_option("--per-second", a->per_second, "jobs a second")->check(positive_number());
}

void add_put_rule(const Commands& family) {
  auto a = std::make_shared<Arguments>();
  auto& putting = add_for_one(family, "put", "have a job for each change that matches, from now on", a,
                              [a](const GlobalOptions& options) -> Result<int> {
                                auto body = TRY(rule_in(*a));
                                if (!a->after.empty()) body["after"] = a->after;
                                return call_and_print(options, "PUT", path_of(*a), print_on_change, body.dump());
                              });
  putting.add_option("--file", a->file, "a file with the JSON of the rule, - for standard input")->required();
  putting.add_option("--after", a->after, "where to begin: oldest, now or a token; now if absent");
}

}  // namespace

void add_rule_commands(const Commands& program) {
  const auto family = program.family("rule", "jobs for the changes of tables");
  add_put_rule(family);
  add_list_and_show_on_change(family);
  add_test_rule(family);
  add_run_rule(family);
  add_pause_on_change(family);
  add_resume_on_change(family);
  add_remove_on_change(family);
}

void add_on_change_commands(const Commands& program) {
  const auto family = program.family("on-change", "webhooks and messages for the changes of tables");
  add_put_on_change(family);
  add_list_and_show_on_change(family);
  add_pause_on_change(family);
  add_resume_on_change(family);
  add_remove_on_change(family);
}

}  // namespace tidemark::cli
