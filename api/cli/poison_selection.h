// Selects the poison messages for a command: named messages, or all that match.
#pragma once
#include <string>
#include <vector>

#include "api/cli/api_client.h"

namespace CLI {
class App;
}

namespace tidemark::cli {

/// The queue whose poison messages are meant; without a name, the jobs' own.
struct PoisonQueue {
  std::string name;

  void declare(CLI::App& command);
  /// Returns the whole id that ends like this.
  [[nodiscard]] Result<std::string> whole(ApiClient& api, const std::string& id) const;
  /// Returns "/v1/poison/ID/ENDING?queue=NAME", with the whole id that ends like `id`.
  [[nodiscard]] Result<std::string> path(const GlobalOptions& options, const std::string& id,
                                         const std::string& ending = {}) const;
};

struct PoisonFilter {
  std::string kind, source, fingerprint, moved_after, moved_before;

  void declare(CLI::App& command);
  [[nodiscard]] bool empty() const;
  /// "?kind=...&queue=..."
  [[nodiscard]] std::string query(const PoisonQueue& queue = {}) const;
};

struct PoisonSelection {
  std::vector<std::string> ids;
  PoisonQueue queue;
  PoisonFilter filter;
  bool all = false, yes = false;

  void declare(CLI::App& command);
  /// Returns the problem with the selection; empty if it has exactly one of: ids, a filter, all.
  [[nodiscard]] std::string problem() const;
};

}  // namespace tidemark::cli
