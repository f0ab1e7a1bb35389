// Explains a command line that could not be read to a user who has misspelt a word of it.
#pragma once
#include <optional>
#include <span>
#include <string>

namespace CLI {
class App;
}

namespace tidemark::cli {

/// Returns the first word that is no command or option of the program, with the probable correction; or the message
/// that a command is missing, with the existing ones. Returns nothing if something else was wrong.
std::optional<std::string> explain_unknown_word(const CLI::App& program, std::span<const char* const> arguments);

}  // namespace tidemark::cli
