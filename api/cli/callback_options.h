// The options of a job that are about callbacks and are more than a text or a number.
#pragma once
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tidemark::cli {

struct CallbackOptions {
  std::vector<std::string> headers;  // "Name: value"
  std::string body;                  // JSON if it is that, else text
  std::string on_end;                // URL
  bool has_body = false;

  /// Must live as long as the command.
  void declare(CLI::App& command);
  void add_to(nlohmann::json& job) const;
};

}  // namespace tidemark::cli
