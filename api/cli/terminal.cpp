#include "api/cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <numeric>
#include <set>

namespace tidemark::cli {
namespace {

constexpr std::size_t kLeastText = 24;  // width of a column that is cut
constexpr std::size_t kShortId = 8;
constexpr const char* kEllipsis = "…";

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

std::size_t length_of_line(const std::vector<std::size_t>& widths) {
  return std::accumulate(widths.begin(), widths.end(), 2 * (widths.size() - 1));
}

/// Returns false if the columns are too wide even so.
bool squeeze(std::vector<std::size_t>& widths, const std::vector<bool>& whole, std::size_t room) {
  for (auto line = length_of_line(widths); line > room; --line) {
    std::size_t* widest = nullptr;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      const bool gives = !whole[i] && widths[i] > kLeastText;
      if (gives && (widest == nullptr || widths[i] > *widest)) widest = &widths[i];
    }
    if (widest == nullptr) return false;
    --*widest;
  }
  return true;
}

}  // namespace

std::size_t terminal_width(int descriptor) {
  winsize size{};
  return ::isatty(descriptor) != 0 && ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

std::size_t length_of(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, begins_character));
}

std::string cut(const std::string& text, std::size_t most) {
  if (length_of(text) <= most) return text;
  std::size_t characters = 0;
  const auto end = std::ranges::find_if(text, [&](char c) { return begins_character(c) && ++characters >= most; });
  return std::string(text.begin(), end) + kEllipsis;
}

std::vector<std::size_t> fitted(std::vector<std::size_t> widths, const std::vector<bool>& whole, std::size_t room) {
  for (; widths.size() > 1; widths.pop_back()) {
    auto squeezed = widths;
    if (squeeze(squeezed, whole, room)) return squeezed;
  }
  return widths;
}

std::vector<std::string> shortened(const std::vector<std::string>& ids) {
  const std::set<std::string> distinct(ids.begin(), ids.end());
  const auto end_of = [](const std::string& id, std::size_t length) {
    return id.substr(id.size() - std::min(id.size(), length));
  };
  const auto tells_apart = [&](std::size_t length) {
    std::set<std::string> ends;
    return std::ranges::all_of(distinct, [&](const auto& id) { return ends.insert(end_of(id, length)).second; });
  };
  auto length = kShortId;
  while (!tells_apart(length)) ++length;
  std::vector<std::string> out;
  for (const auto& id : ids) out.push_back(end_of(id, length));
  return out;
}

Result<bool> ask(const std::string& question, const std::string& yes) {
  if (::isatty(STDIN_FILENO) == 0) {
    return fail(ErrorCode::kInvalidInput, question + " There is no terminal to confirm on; use " + yes + ".");
  }
  std::cerr << question << " [y/N] " << std::flush;
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

void Consent::declare(CLI::App& command) { command.add_flag("--yes", given, "do it without asking"); }

Result<bool> Consent::to(const std::string& question) const {
  if (given) return true;
  return ask(question, "--yes");
}

}  // namespace tidemark::cli
