#include "api/cli/callback_options.h"

#include <CLI/CLI.hpp>

namespace tidemark::cli {

void CallbackOptions::declare(CLI::App& submitting) {
  submitting.add_option("--header", headers, "callback: a header, as \"Name: value\"; may be given again");
  submitting.add_option_function<std::string>(
      "--body",
      [this](const std::string& text) {
        body = text;
        has_body = true;
      },
      "callback: what to send; as JSON if it is JSON");
  submitting.add_option("--on-end", on_end, "URL to call when the job has ended");
}

Result<void> CallbackOptions::add_to(nlohmann::json& spec) const {
  using nlohmann::json;
  for (const auto& header : headers) {
    const auto colon = header.find(':');
    if (colon == std::string::npos)
      return fail(ErrorCode::kConfigInvalid, "--header must be \"Name: value\": " + header);
    const auto value = header.find_first_not_of(' ', colon + 1);
    spec["headers"][header.substr(0, colon)] = value == std::string::npos ? "" : header.substr(value);
  }
  if (has_body) {
    auto parsed = json::parse(body, nullptr, false);
    spec["body"] = parsed.is_discarded() ? json(body) : std::move(parsed);
  }
  if (!on_end.empty()) spec["onEnd"] = {{"url", on_end}};
  return {};
}

}  // namespace tidemark::cli
