#include "api/cli/commands.h"

#include <CLI/CLI.hpp>

namespace tidemark::cli {

Commands Commands::family(const char* name, const char* meaning) const {
  return {*level_.add_subcommand(name, meaning)->require_subcommand(1), chosen_};
}

CLI::App& Commands::add(const char* name, const char* meaning, Action action) const {
  auto* command = level_.add_subcommand(name, meaning);
  command->callback([&chosen = chosen_, action = std::move(action)] { chosen = action; });
  return *command;
}

void Commands::group(const char* heading, std::initializer_list<const char*> names) const {
  for (const auto* name : names) level_.get_subcommand(name)->group(heading);
}

void Commands::add_for_one(const char* collection, const char* argument, const char* argument_meaning,
                           std::initializer_list<ItemCommand> commands) const {
  auto given = std::make_shared<std::string>();
  for (const auto& each : commands) {
    add(each.name, each.meaning,
        [given, collection, each](const GlobalOptions& options) {
          return call_and_print(options, each.method, item_path(collection, *given, each.ending), each.print,
                                each.body);
        })
        .add_option(argument, *given, argument_meaning)
        ->required();
  }
}

}  // namespace tidemark::cli
