// The subcommands of `tidemark`, one family in each file, and the way they are declared.
#pragma once
#include <functional>
#include <initializer_list>

#include "api/cli/answers.h"
#include "api/cli/api_client.h"
#include "api/cli/options.h"

namespace CLI {
class App;
}

namespace tidemark::cli {

/// Runs a command after the command line was read; returns the exit code.
using Action = std::function<Result<int>(const GlobalOptions&)>;

/// A command about one thing: METHOD /v1/COLLECTION/{name}ENDING.
struct ItemCommand {
  const char* name;
  const char* meaning;
  const char* method;
  const char* ending;
  Print print;
  const char* body = "";
};

/// A level of commands: the program's own commands, or a family's, which share their first word. The command that was
/// chosen leaves its action in `chosen`.
class Commands {
 public:
  Commands(CLI::App& level, Action& chosen) : level_(level), chosen_(chosen) {}

  [[nodiscard]] Commands family(const char* name, const char* meaning) const;
  CLI::App& add(const char* name, const char* meaning, Action action) const;
  /// Puts commands of this level under a heading of the help.
  void group(const char* heading, std::initializer_list<const char*> names) const;
  /// Commands with the positional argument `argument`, which names one of the api's `collection`.
  void add_for_one(const char* collection, const char* argument, const char* argument_meaning,
                   std::initializer_list<ItemCommand> commands) const;

 private:
  CLI::App& level_;
  Action& chosen_;
};

/// Call it last: it describes all the other commands.
void add_completion_command(CLI::App& app, const Commands& program);
void add_access_commands(const Commands& program);
void add_blob_commands(const Commands& program);
void add_data_commands(const Commands& program);
void add_explain_command(const Commands& program);
void add_feed_commands(const Commands& program);
void add_group_commands(const Commands& program);
void add_index_commands(const Commands& program);
void add_job_commands(const Commands& program);
void add_key_commands(const Commands& program);
void add_limit_commands(const Commands& program);
void add_maintenance_commands(const Commands& program);
void add_on_change_commands(const Commands& program);
void add_message_commands(const Commands& queues);
void add_operator_commands(const Commands& program);
void add_overview_command(const Commands& program);
void add_poison_commands(const Commands& program);
void add_policy_commands(const Commands& program);
void add_queue_commands(const Commands& program);
void add_rule_commands(const Commands& program);
void add_schedule_commands(const Commands& program);
void add_stack_commands(const Commands& program);
void add_table_commands(const Commands& program);
void add_table_past(const Commands& tables);

}  // namespace tidemark::cli
