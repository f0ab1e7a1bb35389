#include "api/cli/callback_options.h"

#include <CLI/CLI.hpp>

namespace tidemark::cli {

void CallbackOptions::declare(CLI::App& command) {
  command.add_option("--header", headers, "callback: a header, as \"Name: value\"; may be given again")
      ->check([](const std::string& text) {
        return text.find(':') == std::string::npos ? "must be \"Name: value\"" : std::string();
      });
  command.add_option_function<std::string>(
      "--body",
      [this](const std::string& text) {
        body = text;
        has_body = true;
      },
      "callback: what to send; as JSON if it is JSON");
  command.add_option("--on-end", on_end, "URL to call when the job has ended");
}

void CallbackOptions::add_to(nlohmann::json& job) const {
  using nlohmann::json;
  for (const auto& header : headers) {
    const auto colon = header.find(':');
    const auto value = header.find_first_not_of(' ', colon + 1);
    job["headers"][header.substr(0, colon)] = value == std::string::npos ? "" : header.substr(value);
  }
  if (has_body) {
    auto parsed = json::parse(body, nullptr, false);
    job["body"] = parsed.is_discarded() ? json(body) : std::move(parsed);
  }
  if (!on_end.empty()) job["onEnd"] = {{"url", on_end}};
}

}  // namespace tidemark::cli
