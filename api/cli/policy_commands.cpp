// Stored access policies of tables, queues and containers: what a signature that names one may do, and for how long.
#include <CLI/CLI.hpp>

#include <map>

#include "api/cli/commands.h"

namespace tidemark::cli {
namespace {

using nlohmann::json;

/// A table, queue or container.
struct Resource {
  std::string kind, name;

  void declare(CLI::App& command) {
    command.add_option("of", kind, "table, queue or container")
        ->required()
        ->check(CLI::IsMember({"table", "queue", "container"}));
    command.add_option("resource", name, "its name")->required();
  }
  [[nodiscard]] std::string path() const { return item_path(kind + "s", name, "/policies"); }
};

Print policy_table() {
  return member_of("policies", table_of({{"policy", "/id"},
                                         {"permissions", "/permissions"},
                                         {"starts", "/startsAt", time_of},
                                         {"expires", "/expiresAt", time_of}},
                                        "no policies"));
}

struct PolicyArguments {
  Resource of;
  std::string id, file;
  std::map<std::string, std::string> texts;
};

/// Replaces the policy with this id among the others, or removes it if there is no new one.
Result<int> change_policy(const GlobalOptions& options, const PolicyArguments& a, const std::optional<json>& policy) {
  auto api = TRY(ApiClient::create(options));
  auto kept = json::array();
  bool found = false;
  const auto present = TRY(api.call("GET", a.of.path()));
  for (const auto& each : present.value("policies", json::array())) {
    const bool meant = cell(each, "id") == a.id;
    if (!meant) kept.push_back(each);
    if (meant && policy) kept.push_back(*policy);
    found = found || meant;
  }
  if (!found && !policy) {
    return fail(ErrorCode::kNotFound, "The " + a.of.kind + " " + a.of.name + " has no policy " + a.id + ".");
  }
  if (!found) kept.push_back(*policy);
  print_answer(options, TRY(api.call("PUT", a.of.path(), json{{"policies", kept}}.dump())), policy_table());
  return kOk;
}

Result<int> set_policy(const GlobalOptions& options, const PolicyArguments& a) {
  if (!a.file.empty()) {
    if (!a.id.empty() || !a.texts.empty()) return wrong_arguments(options, "--file has all policies: it goes alone");
    return call_and_print(options, "PUT", a.of.path(), policy_table(), TRY(read_file(a.file)));
  }
  if (a.id.empty()) return wrong_arguments(options, "--id says which policy, or --file has all of them");
  json policy{{"id", a.id}};
  for (const auto& [name, text] : a.texts) {
    if (!text.empty()) policy[name] = text;
  }
  return change_policy(options, a, policy);
}

void add_set_policy(const Commands& policies) {
  auto a = std::make_shared<PolicyArguments>();
  auto& setting = policies.add("set", "make or replace one policy; or all of them, from a file",
                               [a](const GlobalOptions& options) { return set_policy(options, *a); });
  a->of.declare(setting);
  const auto text = [&](const char* option, const char* member, const char* meaning) {
    return setting.add_option_function<std::string>(
        option, [a, member](const std::string& value) { a->texts[member] = value; }, meaning);
  };
  setting.add_option("--id", a->id, "the name by which signatures refer to it");
  text("--permissions", "permissions", "letters: raud of a table, raup of a queue, racwdl of a container");
  accept_local_time(*text("--starts-at", "startsAt", "when it begins; without it, at once"));
  accept_local_time(*text("--expires-at", "expiresAt", "when it ends; without it, the signature says when"));
  setting.add_option("--file", a->file, "all policies, as `policy list --json` prints them; - for standard input");
}

}  // namespace

void add_policy_commands(const Commands& program) {
  const auto policies = program.family("policy", "stored access policies, which signatures refer to by their ids");
  auto listed = std::make_shared<Resource>();
  listed->declare(policies.add(
      "list", "the policies of a table, queue or container",
      [listed](const GlobalOptions& to) { return call_and_print(to, "GET", listed->path(), policy_table()); }));
  add_set_policy(policies);
  auto removed = std::make_shared<PolicyArguments>();
  auto& removing =
      policies.add("remove", "remove a policy; signatures that refer to it do not work any more",
                   [removed](const GlobalOptions& options) { return change_policy(options, *removed, std::nullopt); });
  removed->of.declare(removing);
  removing.add_option("--id,id", removed->id, "the policy's id")->required();
}

}  // namespace tidemark::cli
