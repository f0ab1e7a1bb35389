// The differences between a terminal and a file: lines fit its width, ids are as short as they are unique, questions
// are asked. Output to other destinations is complete, for scripts.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "common/base/error.h"

namespace CLI {
class App;
}

namespace tidemark::cli {

/// Returns the number of characters in a line of the terminal on this descriptor; 0 if it is no terminal.
std::size_t terminal_width(int descriptor);

/// Returns the number of characters in a text.
std::size_t length_of(const std::string& text);
/// Returns the text, or its beginning and an ellipsis, in at most `most` characters.
std::string cut(const std::string& text, std::size_t most);
/// Returns the widths of as many of the first columns as fit into `room` with two spaces between them, at least one.
/// Texts are shortened a little, the widest first; columns in `whole`, which are useless when cut, never are.
std::vector<std::size_t> fitted(std::vector<std::size_t> widths, const std::vector<bool>& whole, std::size_t room);
/// Returns the ends of the ids, of 8 characters or as many more as are needed to distinguish them.
std::vector<std::string> shortened(const std::vector<std::string>& ids);

/// Returns true if the user answers yes on the terminal. kInvalidInput if there is no terminal; `yes` is the option to
/// use instead.
Result<bool> ask(const std::string& question, const std::string& yes);

/// The consent to a command that destroys something.
struct Consent {
  bool given = false;
  /// --yes
  void declare(CLI::App& command);
  /// Returns true if it was given, or if the user answers yes.
  [[nodiscard]] Result<bool> to(const std::string& question) const;
};

}  // namespace tidemark::cli
