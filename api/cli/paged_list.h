// Lists that the api gives by pages, as commands print them: so much as is wanted, and where the rest begins.
#pragma once
#include <string>

#include "api/cli/answers.h"

namespace CLI {
class App;
}

namespace tidemark::cli {

/// So much of a list does a command ask for at once.
inline constexpr std::size_t kPage = 1000;

/// How much of a list is wanted, and from where on.
struct Extent {
  std::size_t most = 50;  // 0: all
  std::string continuation = {};

  /// --limit and --continuation
  void declare(CLI::App& command);
};
inline const Extent kWhole{.most = 0};

/// A search for few among very many ends here, unless all are wanted.
inline constexpr std::uint64_t kSearchedAtMost = 1'000'000;  // takes about a second

/// Prints a list as one document of the form of a page: {MEMBER:[...],"searched"?,"continuation"?}. `path` has its
/// other parameters. What is left out is told to a person after the list, on standard error.
Result<int> list_and_print(const GlobalOptions& options, const std::string& path, const char* member,
                           const Extent& wanted, const Print& print);

}  // namespace tidemark::cli
