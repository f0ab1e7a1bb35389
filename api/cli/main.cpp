// The `tidemark` command.
#include <CLI/CLI.hpp>

#include <iostream>
#include <nlohmann/json.hpp>

#include "api/cli/commands.h"
#include "api/cli/environment_file.h"
#include "api/cli/shard_commands.h"
#include "api/cli/unknown_words.h"
#include "common/process/config.h"
#include "stack/addresses.h"

namespace tidemark::cli {

extern const char* const kCommit;  // of the sources; empty if it is unknown

namespace {

/// Returns "tidemark 0.1.0 (commit 1234567890, Release)".
std::string version() {
  std::string build = TIDEMARK_BUILD;
  if (*kCommit != '\0') build = std::string("commit ") + kCommit + ", " + build;
  return "tidemark " TIDEMARK_VERSION " (" + build + ")";
}

constexpr const char* kExitCodes =
    "Exit codes: 0 done; 1 refused or unreachable; 2 wrong arguments; 3 no such thing; 4 the job did not succeed.";
constexpr const char* kOptionsOfAll =
    "Also: --api --token --data --table-url --account --key --ca-file --reason --json; see tidemark --help.\n";

/// Prints "error: ..." (or {"error":...} with --json) on stderr and returns the exit code.
int report(const GlobalOptions& options, const Error& error) {
  if (options.json) {
    std::string code(azure_name_of(error.code));
    for (const auto& [name, value] : error.fields) {
      if (name == "code") code = value;
    }
    std::cerr << nlohmann::json{{"error", {{"code", code}, {"message", error.message}}}} << "\n";
  } else {
    std::cerr << "error: " << error.message << "\n";
  }
  return http_status_of(error.code) == 404 ? kNotFoundExit : kFailed;
}

void add_options(CLI::App& app, GlobalOptions& options) {
  app.add_option("--api", options.api, "URL of the api; without it, that of the stack of --data")
      ->envname("TIDEMARK_API")
      ->capture_default_str();
  app.add_option("--token", options.token, "bearer token of the api; without it, what is in DATA/run/token")
      ->envname("TIDEMARK_TOKEN");
  app.add_option("--data", options.data, "data directory of the stack, if it is on this machine")
      ->envname("TIDEMARK_DATA")
      ->capture_default_str();
  app.add_option("--table-url", options.table, "URL of the table service, with the account")
      ->envname("TIDEMARK_TABLE_URL")
      ->capture_default_str();
  app.add_option("--account", options.account, "storage account")->envname("TIDEMARK_ACCOUNT")->capture_default_str();
  app.add_option("--key", options.key, "the account's key, base64")->envname("TIDEMARK_KEY");
  app.add_option("--ca-file", options.ca_file, "certificates (PEM) to trust for https, in addition to the system's")
      ->envname("TIDEMARK_CA_FILE");
  app.add_option("--reason", options.reason, "why something is done, for the audit trail");
  app.add_flag("--json", options.json, "print JSON, for scripts");
}

/// Takes missing addresses from the stack that runs on the data directory.
void find_stack(const CLI::App& app, GlobalOptions& options) {
  const auto folder = stack::DataFolder::open(options.data);
  // A folder of somebody else that happens to be here must not say where a token is sent.
  const bool trusted = folder && (!app.get_option("--data")->empty() || folder->is_mine());
  if (!trusted || !folder->running(stack::kApi)) return;
  const auto addresses = stack::addresses_of(*folder, folder->choices());
  if (app.get_option("--api")->empty()) options.api = addresses.api;
  if (app.get_option("--table-url")->empty() && app.get_option("--account")->empty()) {
    options.table = addresses.table;
    options.account = addresses.account;
  }
  if (app.get_option("--ca-file")->empty()) options.ca_file = addresses.certificate;
}

void add_commands(CLI::App& app, Action& chosen) {
  const Commands program(app, chosen);
  // The help has the headings in the order in which they come here.
  add_stack_commands(program);
  add_overview_command(program);
  add_table_commands(program);
  add_data_commands(program);
  add_queue_commands(program);
  add_blob_commands(program);
  add_explain_command(program);
  add_job_commands(program);
  add_poison_commands(program);
  add_schedule_commands(program);
  add_group_commands(program);
  add_limit_commands(program);
  add_index_commands(program);
  add_feed_commands(program);
  add_on_change_commands(program);
  add_rule_commands(program);
  add_policy_commands(program);
  add_access_commands(program);
  add_key_commands(program);
  add_operator_commands(program);
  add_maintenance_commands(program);
  add_shard_commands(program);
  add_completion_command(app, program);
  program.group("The stack", {"up", "down", "status", "env", "overview"});
  program.group("Data", {"table", "entity", "queue", "container", "blob", "explain"});
  program.group("Jobs", {"job", "transaction", "poison", "schedule", "group", "kind", "limit", "worker"});
  program.group("Indexes and changes", {"index", "changes", "feed", "consumer", "on-change", "rule"});
  program.group("Access", {"policy", "sas", "session", "audit", "keys"});
  program.group("Operation", {"backup", "restore", "fsck", "account", "shards", "completion"});
}

int run_command(int argc, char** argv) {
  constexpr std::size_t kHelpColumn = 36;
  read_environment_file();
  GlobalOptions options;
  CLI::App app("Jobs, poison messages, queues and tables of a Tidemark stack.", "tidemark");
  app.require_subcommand(1);
  app.fallthrough();
  app.get_formatter()->column_width(kHelpColumn);       // set before the subcommands exist, which inherit it
  app.footer(std::string(kOptionsOfAll) + kExitCodes);  // for the subcommands, which inherit it
  app.set_version_flag("--version", version(), "print the version and exit");
  add_options(app, options);
  Action chosen;
  add_commands(app, chosen);
  app.footer(kExitCodes);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const std::span<const char* const> arguments(argv + 1, argv + argc);
    if (const auto why = error.get_exit_code() == 0 ? std::nullopt : explain_unknown_word(app, arguments)) {
      std::cerr << "error: " << *why << "\nRun with --help for more information.\n";
      return kUsage;
    }
    if (error.get_exit_code() != 0) std::cerr << "error: ";
    const int code = app.exit(error);
    return code == 0 ? kOk : kUsage;
  }
  if (!options.json) {
    for (const auto& warning : process::misspelt_variables()) std::cerr << "warning: " << warning << "\n";
  }
  find_stack(app, options);
  const auto code = chosen(options);
  return code ? *code : report(options, code.error());
}

}  // namespace
}  // namespace tidemark::cli

int main(int argc, char** argv) {
  const int code = tidemark::cli::run_command(argc, argv);
  if (std::cout.flush()) return code;
  std::cerr << "error: standard output cannot be written\n";
  return code == tidemark::cli::kOk ? tidemark::cli::kFailed : code;
}
