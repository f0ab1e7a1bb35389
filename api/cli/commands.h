// The subcommands of `tidemark`, one family a file. Each adds its commands to the application and, when one was
// chosen, sets `run`.
#pragma once
#include <functional>

#include "api/cli/options.h"

namespace CLI {
class App;
}

namespace tidemark::cli {

using Run = std::function<int()>;

/// Last: it describes all the others.
void add_completion_command(CLI::App& app, Run& run);
void add_explain_command(CLI::App& app, const GlobalOptions& options, Run& run);
void add_group_commands(CLI::App& app, const GlobalOptions& options, Run& run);
void add_job_commands(CLI::App& app, const GlobalOptions& options, Run& run);
void add_limit_commands(CLI::App& app, const GlobalOptions& options, Run& run);
void add_operator_commands(CLI::App& app, const GlobalOptions& options, Run& run);
void add_poison_commands(CLI::App& app, const GlobalOptions& options, Run& run);
void add_queue_commands(CLI::App& app, const GlobalOptions& options, Run& run);
void add_schedule_commands(CLI::App& app, const GlobalOptions& options, Run& run);
void add_table_commands(CLI::App& app, const GlobalOptions& options, Run& run);

}  // namespace tidemark::cli
