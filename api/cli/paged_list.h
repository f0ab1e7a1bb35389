// Prints lists that the api gives page by page: as many entries as wanted, and where the rest begins.
#pragma once
#include <string>

#include "api/cli/answers.h"

namespace CLI {
class App;
}

namespace tidemark::cli {

/// How many entries a command requests at once.
inline constexpr std::size_t kPage = 1000;

/// How much of a list is wanted, and where it begins.
struct Extent {
  std::size_t most = 50;  // 0: all
  std::string continuation = {};

  /// --limit, --all and --continuation
  void declare(CLI::App& command);
};
inline const Extent kWhole{.most = 0};

/// A search for few matches among very many entries ends here, unless all are wanted.
inline constexpr std::uint64_t kSearchedAtMost = 1'000'000;  // takes about a second

/// Returns a line that says how many entries were shown, and how to get the rest.
std::string more_than_shown(std::size_t shown, const std::string& continuation);

/// Prints a list as one document of the form of a page: {MEMBER:[...],"searched"?,"continuation"?}. `path` has its
/// other parameters. A note on standard error after the list tells a person that entries were left out.
Result<int> list_and_print(const GlobalOptions& options, const std::string& path, const char* member,
                           const Extent& wanted, const Print& print);

}  // namespace tidemark::cli
