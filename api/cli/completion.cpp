// The completion script is made from the commands themselves, so it cannot go stale: for each command its subcommands
// and options, for each option what its value may be. Ids and names are asked of the stack: whatever the sibling
// command `list` prints in its first column.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "api/cli/commands.h"

namespace tidemark::cli {
namespace {

/// "a b c" of "TEXT:{a,b,c}", as a check with a list of words describes itself.
std::string words_of(const std::string& type) {
  const auto begin = type.find('{'), end = type.find('}');
  if (begin == std::string::npos || end == std::string::npos || end < begin) return {};
  auto words = type.substr(begin + 1, end - begin - 1);
  std::replace(words.begin(), words.end(), ',', ' ');
  return words;
}

struct Words {
  std::string commands, options, with_value;
};

Words words_of(const CLI::App& command) {
  Words out;
  const auto add = [](std::string& list, const std::string& word) { list += (list.empty() ? "" : " ") + word; };
  for (const auto* each : command.get_subcommands(nullptr)) add(out.commands, each->get_name());
  // Options of the whole program are taken anywhere.
  for (const auto* level = &command; level != nullptr; level = level->get_parent()) {
    for (const auto* option : level->get_options()) {
      for (const auto& name : option->get_lnames()) {
        add(out.options, "--" + name);
        if (option->get_expected_max() > 0) add(out.with_value, "--" + name);
      }
    }
  }
  return out;
}

/// What a positional or an option's value may be, as a line of shell that sets `values`.
std::string values_of(const CLI::App& command, const CLI::Option& option, const std::string& path) {
  const auto words = words_of(option.get_type_name());
  if (!words.empty()) return "values='" + words + "'";
  if (option.get_name() == "--file") return "compopt -o default; values=''";
  const auto* parent = command.get_parent();
  if (parent == nullptr) return {};
  const auto siblings = parent->get_subcommands([](const CLI::App* sibling) { return sibling->get_name() == "list"; });
  auto family = path.substr(0, path.find(' '));
  // Some words mean the same wherever they are.
  const auto name = option.get_name();
  const bool kind = name == "kind" || name == "--kind";
  const bool table = name == "table" || name == "--source" || name == "--destination";
  if (kind || table) {
    family = kind ? "kind" : "table";
  } else if (!option.get_positional() || siblings.empty()) {
    return {};
  }
  return "values=$(\"${COMP_WORDS[0]}\" " + family + " list 2>/dev/null | awk 'NR > 1 { print $1 }')";
}

void print_cases(const CLI::App& command, const std::string& path) {
  const auto words = words_of(command);
  std::cout << "    '" << path << "') commands='" << words.commands << "' options='" << words.options
            << "' with_value='" << words.with_value << "' ;;\n";
  for (const auto* each : command.get_subcommands(nullptr)) {
    print_cases(*each, path.empty() ? each->get_name() : path + " " + each->get_name());
  }
}

void print_values(const CLI::App& command, const std::string& path) {
  int position = 0;
  for (const auto* option : command.get_options()) {
    const auto values = values_of(command, *option, path);
    if (option->get_positional()) {
      ++position;
      if (!values.empty()) std::cout << "    '" << path << " #" << position << "') " << values << " ;;\n";
    } else if (!values.empty()) {
      std::cout << "    '" << path << " " << option->get_name() << "') " << values << " ;;\n";
    }
  }
  for (const auto* each : command.get_subcommands(nullptr)) {
    print_values(*each, path.empty() ? each->get_name() : path + " " + each->get_name());
  }
}

constexpr const char* kHead = R"script(# bash completion for tidemark; made by: tidemark completion bash
_tidemark_words() {
  commands='' options='' with_value=''
  case "$1" in
)script";

constexpr const char* kMiddle = R"script(  esac
}

_tidemark_values() {
  values=''
  case "$1" in
)script";

constexpr const char* kTail = R"script(    *) return 1 ;;
  esac
}

_tidemark() {
  local current="${COMP_WORDS[COMP_CWORD]}" commands options with_value values path='' position=0 pending='' word i
  COMPREPLY=()
  _tidemark_words ''
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="${COMP_WORDS[i]}"
    if [[ -n $pending ]]; then
      pending=''
    elif [[ $word == -* ]]; then
      [[ " $with_value " == *" $word "* ]] && pending="$word"
    elif [[ " $commands " == *" $word "* ]]; then
      path="${path:+$path }$word"
      _tidemark_words "$path"
    else
      ((position++))
    fi
  done
  if [[ -n $pending ]]; then
    _tidemark_values "$path $pending" && COMPREPLY=($(compgen -W "$values" -- "$current"))
  elif [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$current"))
  elif [[ -n $commands ]]; then
    COMPREPLY=($(compgen -W "$commands" -- "$current"))
  elif _tidemark_values "$path #$((position + 1))"; then
    COMPREPLY=($(compgen -W "$values" -- "$current"))
  fi
}
complete -F _tidemark tidemark
)script";

void print_bash(const CLI::App& app) {
  std::cout << kHead;
  print_cases(app, "");
  std::cout << kMiddle;
  print_values(app, "");
  std::cout << kTail;
}

}  // namespace

void add_completion_command(CLI::App& app, const Commands& program) {
  program.family("completion", "print a script that completes commands in a shell")
      .add("bash", "for bash",
           [&app](const GlobalOptions&) -> Result<int> {
             print_bash(app);
             return kOk;
           })
      .footer(
          "For this shell:  source <(tidemark completion bash)\n"
          "For every one:   tidemark completion bash > ~/.local/share/bash-completion/completions/tidemark");
}

}  // namespace tidemark::cli
