// The options of `tidemark job submit` that are about callbacks and are more than a text or a number.
#pragma once
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

#include "common/base/error.h"

namespace CLI {
class App;
}

namespace tidemark::cli {

struct CallbackOptions {
  std::vector<std::string> headers;  // "Name: value"
  std::string body;                  // JSON if it is that, else text
  std::string on_end;                // URL
  bool has_body = false;

  void declare(CLI::App& submitting);
  /// kConfigInvalid for a header that is none.
  Result<void> add_to(nlohmann::json& spec) const;
};

}  // namespace tidemark::cli
