#include "api/cli/unknown_words.h"

#include <CLI/CLI.hpp>

#include "common/base/nearest_word.h"
#include "jobs/kinds/kinds.h"

namespace tidemark::cli {
namespace {

std::vector<std::string> commands_of(const CLI::App& level) {
  std::vector<std::string> names;
  for (const auto* command : level.get_subcommands(nullptr)) names.push_back(command->get_name());
  return names;
}

/// Options of the levels above are accepted, too.
const CLI::Option* find_option(const CLI::App& level, const std::string& name) {
  for (const auto* each = &level; each != nullptr; each = each->get_parent()) {
    if (const auto* option = each->get_option_no_throw(name)) return option;
  }
  return nullptr;
}

std::vector<std::string> options_of(const CLI::App& level, bool with_those_above = true) {
  std::vector<std::string> names;
  for (const auto* each = &level; each != nullptr; each = with_those_above ? each->get_parent() : nullptr) {
    for (const auto* option : each->get_options()) {
      for (const auto& name : option->get_lnames()) names.push_back("--" + name);
    }
  }
  return names;
}

std::string path_of(const CLI::App& level) {
  return level.get_parent() == nullptr ? level.get_name() : path_of(*level.get_parent()) + " " + level.get_name();
}

/// Commands of other families are named by their last word, such as `query` for "table query" and `query plan` for
/// "entity plan". Says nothing if so many are called that way that it would be no help.
std::string commands_elsewhere(const CLI::App& program, std::span<const char* const> words) {
  constexpr int kMostNamed = 4;
  std::string guess;
  int named = 0;
  for (const auto* family : program.get_subcommands(nullptr)) {
    for (const auto& command : commands_of(*family)) {
      if (std::ranges::find(words, command) == words.end()) continue;
      guess += (named++ == 0 ? " Did you mean \"" : " or \"") + path_of(*family) + " " + command + "\"";
    }
  }
  return named == 0 || named > kMostNamed ? "" : guess + "?";
}

std::string list_of(const std::vector<std::string>& names) {
  std::string list;
  for (const auto& name : names) list += (list.empty() ? "" : ", ") + name;
  return list;
}

/// Kinds of job are not commands, but look like some.
std::string kind_meant(const std::string& word) {
  const std::vector<std::string> kinds(jobs::Kinds::kNames.begin(), jobs::Kinds::kNames.end());
  const auto kind = nearest_word(word, kinds);
  return kind ? " Did you mean \"tidemark job submit " + *kind + "\"?" : "";
}

}  // namespace

std::optional<std::string> explain_unknown_word(const CLI::App& program, std::span<const char* const> arguments) {
  const auto* level = &program;
  for (std::size_t at = 0; at < arguments.size(); ++at) {
    const std::string word = arguments[at];
    if (word.starts_with("--")) {
      const auto name = word.substr(0, word.find('='));
      const auto* option = find_option(*level, name);
      if (option == nullptr) {
        const auto meant = guess_of(name, options_of(*level));
        return "\"" + path_of(*level) + "\" has no option " + name + "." +
               (meant.empty() ? " It has: " + list_of(options_of(*level, false)) + "." : meant);
      }
      if (option->get_expected_max() > 0 && name == word) ++at;
      continue;
    }
    const auto commands = commands_of(*level);
    if (word.starts_with("-") || commands.empty()) continue;
    if (std::ranges::find(commands, word) == commands.end()) {
      auto meant = guess_of(word, commands);
      const auto words = arguments.subspan(at, std::min<std::size_t>(2, arguments.size() - at));
      if (meant.empty() && level == &program) meant = commands_elsewhere(program, words);
      if (meant.empty() && (level == &program || level->get_name() == "job")) meant = kind_meant(word);
      return "\"" + path_of(*level) + "\" has no command \"" + word + "\"." +
             (meant.empty() ? " It has: " + list_of(commands) + "." : meant);
    }
    level = level->get_subcommand(word);
  }
  const auto commands = commands_of(*level);
  if (commands.empty()) return std::nullopt;
  return "\"" + path_of(*level) + "\" needs a command: " + list_of(commands) + ".";
}

}  // namespace tidemark::cli
