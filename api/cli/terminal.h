// What a terminal shows differently from a file: lines as wide as it is, ids as short as they are unique, questions.
// Elsewhere everything is whole, for scripts.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "common/base/error.h"

namespace tidemark::cli {

/// How many characters a line of the terminal on this descriptor has; 0 if it is no terminal.
std::size_t terminal_width(int descriptor);

/// How many characters a text has.
std::size_t length_of(const std::string& text);
/// The text, or its beginning and an ellipsis, in at most `most` characters.
std::string cut(const std::string& text, std::size_t most);
/// Widths of as many of the first columns as fit into `room` with two spaces between them, at least one. Texts give way
/// a little, the widest first; columns in `whole`, which are of no use when they are cut, never do.
std::vector<std::size_t> fitted(std::vector<std::size_t> widths, const std::vector<bool>& whole, std::size_t room);
/// The ends of the ids, of 8 characters or as many more as it takes to tell them apart.
std::vector<std::string> shortened(const std::vector<std::string>& ids);

/// True for a yes on the terminal. kInvalidInput where there is nobody to ask; `yes` is the option that would do.
Result<bool> ask(const std::string& question, const std::string& yes);

}  // namespace tidemark::cli
