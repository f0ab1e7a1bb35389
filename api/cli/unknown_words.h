// What was wrong with a command line that could not be read, for somebody who has misspelt a word of it.
#pragma once
#include <optional>
#include <span>
#include <string>

namespace CLI {
class App;
}

namespace tidemark::cli {

/// The first word that is no command or option of the program, with what was probably meant; or that a command is
/// missing, with those there are. Nothing if it was something else.
std::optional<std::string> explain_unknown_word(const CLI::App& program, std::span<const char* const> arguments);

}  // namespace tidemark::cli
