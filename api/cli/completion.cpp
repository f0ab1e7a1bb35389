// The completion scripts are made from the commands themselves, so they cannot become outdated: for each command its
// subcommands and options, for each option its possible values. Ids and names come from the stack: they are the first
// column of the output of the sibling command `list`, or of another command. One description serves all shells; the
// frames around it walk over the words of the line in the same way.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "api/cli/commands.h"

namespace tidemark::cli {
namespace {

/// Returns "a b c" for "TEXT:{a,b,c}", the text by which a check with a list of words describes itself.
std::string words_of(const std::string& type) {
  const auto begin = type.find('{'), end = type.find('}');
  if (begin == std::string::npos || end == std::string::npos || end < begin) return {};
  auto words = type.substr(begin + 1, end - begin - 1);
  std::replace(words.begin(), words.end(), ',', ' ');
  return words;
}

/// A command, and the words that may follow it.
struct Words {
  std::string path, commands, options, with_value;  // lists, separated by spaces
};

/// The possible values at a place: words, the output of a command, or a file.
struct Values {
  std::string place;             // "job show #1": a positional, "job list --state": an option
  std::string words, listed_by;  // "job list"
};

struct Description {
  std::vector<Words> words;
  std::vector<Values> values;
};

Words words_of(const CLI::App& command, const std::string& path) {
  Words out{path, {}, {}, {}};
  const auto add = [](std::string& list, const std::string& word) { list += (list.empty() ? "" : " ") + word; };
  for (const auto* each : command.get_subcommands(nullptr)) add(out.commands, each->get_name());
  // Options of the whole program are accepted at every level.
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

/// Returns nothing if any text may stand there.
std::optional<Values> values_of(const CLI::App& command, const CLI::Option& option, const std::string& path,
                                const std::string& place) {
  if (auto words = words_of(option.get_type_name()); !words.empty()) return Values{place, std::move(words), {}};
  if (option.get_name() == "--file") return Values{place, {}, {}};
  const auto* parent = command.get_parent();
  if (parent == nullptr) return std::nullopt;
  // Some words mean the same at every place.
  const auto name = option.get_name();
  if (name == "kind" || name == "--kind") return Values{place, {}, "kind list"};
  if (name == "table" || name == "--source" || name == "--destination") return Values{place, {}, "table list"};
  if (name == "process") return Values{place, {}, "shards processes"};
  if (name == "queue") return Values{place, {}, "queue list"};
  if (name == "container") return Values{place, {}, "container list"};
  for (const auto* unknown : {"shard", "message", "text", "resource"}) {
    if (name == unknown) return std::nullopt;
  }
  if (path.starts_with("policy ")) return std::nullopt;  // its list needs arguments
  const auto siblings = parent->get_subcommands([](const CLI::App* sibling) { return sibling->get_name() == "list"; });
  if (!option.get_positional() || siblings.empty()) return std::nullopt;
  return Values{place, {}, path.substr(0, path.find(' ')) + " list"};
}

void describe(const CLI::App& command, const std::string& path, Description& out) {
  out.words.push_back(words_of(command, path));
  int position = 0;
  for (const auto* option : command.get_options()) {
    const auto at = option->get_positional() ? "#" + std::to_string(++position) : option->get_name();
    if (auto values = values_of(command, *option, path, path + " " + at)) out.values.push_back(std::move(*values));
  }
  for (const auto* each : command.get_subcommands(nullptr)) {
    describe(*each, path.empty() ? each->get_name() : path + " " + each->get_name(), out);
  }
}

constexpr const char* kFirstColumn = " 2>/dev/null | awk 'NR > 1 { print $1 }')";

/// For bash and zsh, which share these variables; names without a prefix have a meaning in zsh.
void print_tables(const Description& all) {
  std::cout << "_tidemark_words() {\n  tm_commands='' tm_options='' tm_with_value=''\n  case \"$1\" in\n";
  for (const auto& each : all.words) {
    std::cout << "    '" << each.path << "') tm_commands='" << each.commands << "' tm_options='" << each.options
              << "' tm_with_value='" << each.with_value << "' ;;\n";
  }
  std::cout << "  esac\n}\n\n_tidemark_values() {\n  tm_values=''\n  case \"$1\" in\n";
  for (const auto& each : all.values) {
    std::cout << "    '" << each.place << "') tm_values=";
    if (!each.listed_by.empty()) {
      std::cout << "$(\"$tm_program\" " << each.listed_by << kFirstColumn;
    } else {
      std::cout << "'" << (each.words.empty() ? "@files" : each.words) << "'";
    }
    std::cout << " ;;\n";
  }
  std::cout << "    *) return 1 ;;\n  esac\n}\n";
}

// Both bash and zsh understand it.
constexpr const char* kWalk = R"script(
# The word that is completed, and those before it: sets tm_offered to what may stand there.
_tidemark_offer() {
  local current="$1" tm_commands tm_options tm_with_value tm_values where='' position=0 pending='' word
  shift
  _tidemark_words ''
  for word in "$@"; do
    if [[ -n $pending ]]; then
      pending=''
    elif [[ $word == -* ]]; then
      [[ " $tm_with_value " == *" $word "* ]] && pending="$word"
    elif [[ " $tm_commands " == *" $word "* ]]; then
      where="${where:+$where }$word"
      _tidemark_words "$where"
    else
      position=$((position + 1))
    fi
  done
  tm_offered=''
  if [[ -n $pending ]]; then
    _tidemark_values "$where $pending" && tm_offered="$tm_values"
  elif [[ $current == -* ]]; then
    tm_offered="$tm_options"
  elif [[ -n $tm_commands ]]; then
    tm_offered="$tm_commands"
  elif _tidemark_values "$where #$((position + 1))"; then
    tm_offered="$tm_values"
  fi
}
)script";

constexpr const char* kBash = R"script(
_tidemark() {
  local tm_offered tm_program="${COMP_WORDS[0]}" current="${COMP_WORDS[COMP_CWORD]}"
  _tidemark_offer "$current" "${COMP_WORDS[@]:1:COMP_CWORD-1}"
  if [[ $tm_offered == @files ]]; then
    compopt -o default
    COMPREPLY=()
  else
    COMPREPLY=($(compgen -W "$tm_offered" -- "$current"))
  fi
}
complete -F _tidemark tidemark
)script";

constexpr const char* kZsh = R"script(
_tidemark() {
  local tm_offered tm_program="${words[1]}"
  _tidemark_offer "${words[CURRENT]}" "${(@)words[2,CURRENT-1]}"
  if [[ $tm_offered == @files ]]; then
    _files
  else
    compadd -- ${=tm_offered}
  fi
}
# As a file of $fpath it is the function itself.
if [[ ${funcstack[1]} == _tidemark ]]; then
  _tidemark "$@"
else
  compdef _tidemark tidemark
fi
)script";

constexpr const char* kFish = R"script(
function __tidemark_offer
  set -l words (commandline -opc)
  set -l current (commandline -ct)
  set -g __tidemark_program $words[1]
  set -e words[1]
  set -l where ''
  set -l position 1
  set -l pending ''
  __tidemark_words ''
  for word in $words
    if test -n "$pending"
      set pending ''
    else if string match -q -- '-*' $word
      contains -- $word $__tidemark_with_value; and set pending $word
    else if contains -- $word $__tidemark_commands
      set where (string trim "$where $word")
      __tidemark_words $where
    else
      set position (math $position + 1)
    end
  end
  if test -n "$pending"
    __tidemark_values "$where $pending"
  else if string match -q -- '-*' "$current"
    string join \n -- $__tidemark_options
  else if set -q __tidemark_commands[1]
    string join \n -- $__tidemark_commands
  else
    __tidemark_values "$where #$position"
  end
end
complete -c tidemark -f -a '(__tidemark_offer)'
)script";

void print_bash(const Description& all) {
  std::cout << "# bash completion for tidemark; made by: tidemark completion bash\n";
  print_tables(all);
  std::cout << kWalk << kBash;
}

void print_zsh(const Description& all) {
  std::cout << "#compdef tidemark\n# zsh completion for tidemark; made by: tidemark completion zsh\n";
  print_tables(all);
  std::cout << kWalk << kZsh;
}

void print_fish(const Description& all) {
  std::cout << "# fish completion for tidemark; made by: tidemark completion fish\nfunction __tidemark_words\n"
               "  set -g __tidemark_commands\n  set -g __tidemark_options\n  set -g __tidemark_with_value\n"
               "  switch \"$argv[1]\"\n";
  for (const auto& each : all.words) {
    std::cout << "    case '" << each.path << "'\n      set -g __tidemark_commands " << each.commands
              << "\n      set -g __tidemark_options " << each.options << "\n      set -g __tidemark_with_value "
              << each.with_value << "\n";
  }
  std::cout << "  end\nend\n\nfunction __tidemark_values\n  switch \"$argv[1]\"\n";
  for (const auto& each : all.values) {
    std::cout << "    case '" << each.place << "'\n      ";
    if (!each.listed_by.empty()) {
      std::cout << "$__tidemark_program " << each.listed_by << " 2>/dev/null | awk 'NR > 1 { print $1 }'\n";
    } else if (each.words.empty()) {
      std::cout << "__fish_complete_path (commandline -ct)\n";
    } else {
      std::cout << "string join \\n -- " << each.words << "\n";
    }
  }
  std::cout << "  end\nend\n" << kFish;
}

void add_shell(const Commands& completion, const CLI::App& app, const char* name, const char* meaning,
               void (*print)(const Description&), const char* footer) {
  auto& command = completion.add(name, meaning, [&app, print](const GlobalOptions&) -> Result<int> {
    Description all;
    describe(app, "", all);
    print(all);
    return kOk;
  });
  command.footer(std::string(footer) + "\n" + command.get_footer());
}

}  // namespace

void add_completion_command(CLI::App& app, const Commands& program) {
  const auto completion = program.family("completion", "print a script that completes commands in a shell");
  add_shell(completion, app, "bash", "for bash", &print_bash,
            "For this shell:  source <(tidemark completion bash)\n"
            "For every one:   tidemark completion bash > ~/.local/share/bash-completion/completions/tidemark");
  add_shell(completion, app, "zsh", "for zsh", &print_zsh,
            "For this shell:  source <(tidemark completion zsh), after compinit\n"
            "For every one:   tidemark completion zsh > _tidemark, in a directory of $fpath");
  add_shell(completion, app, "fish", "for fish", &print_fish,
            "For this shell:  tidemark completion fish | source\n"
            "For every one:   tidemark completion fish > ~/.config/fish/completions/tidemark.fish");
}

}  // namespace tidemark::cli
