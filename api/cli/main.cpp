// The `tidemark` command.
#include <CLI/CLI.hpp>

#include "api/cli/commands.h"

int main(int argc, char** argv) {
  using namespace tidemark::cli;
  constexpr std::size_t kHelpColumn = 36;
  GlobalOptions options;
  Run run;
  CLI::App app("Jobs, poison messages, queues and tables of a Tidemark stack.", "tidemark");
  app.require_subcommand(1);
  app.fallthrough();
  app.get_formatter()->column_width(kHelpColumn);  // inherited by the subcommands, so before them
  app.footer(
      "Exit codes: 0 done; 1 refused or unreachable; 2 wrong arguments; 3 no such thing; 4 the job did not succeed.");
  app.set_version_flag("--version", "tidemark " TIDEMARK_VERSION, "print the version and exit");
  app.add_option("--api", options.api, "URL of the api")->envname("TIDEMARK_API")->capture_default_str();
  app.add_option("--token", options.token, "bearer token of the api")->envname("TIDEMARK_TOKEN");
  app.add_option("--table-url", options.table, "URL of the table service with the account")
      ->envname("TIDEMARK_TABLE_URL")
      ->capture_default_str();
  app.add_option("--account", options.account, "storage account")->envname("TIDEMARK_ACCOUNT")->capture_default_str();
  app.add_option("--key", options.key, "the account's key, base64")->envname("TIDEMARK_KEY");
  app.add_flag("--json", options.json, "print JSON, for scripts");
  add_explain_command(app, options, run);
  add_group_commands(app, options, run);
  add_job_commands(app, options, run);
  add_limit_commands(app, options, run);
  add_operator_commands(app, options, run);
  add_poison_commands(app, options, run);
  add_queue_commands(app, options, run);
  add_schedule_commands(app, options, run);
  add_table_commands(app, options, run);
  add_completion_command(app, run);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? kOk : kUsage;
  }
  return run ? run() : kUsage;
}
