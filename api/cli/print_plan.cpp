#include "api/cli/print_plan.h"

#include <iostream>

namespace tidemark::cli {

using nlohmann::json;

int print_plan(const GlobalOptions& options, const json& plan) {
  const auto problems = plan.value("problems", json::array());
  if (options.json) {
    std::cout << plan << "\n";
    return problems.empty() ? kOk : kFailed;
  }
  std::cout << plan.value("kind", "") << ": " << (plan.value("complete", true) ? "" : "at least ")
            << plan.value("keys", 0ULL) << " keys, " << plan.value("bytes", 0ULL) << " bytes, about "
            << plan.value("seconds", 0.0) << " s\n";
  for (const auto& problem : problems) std::cout << "would fail: " << problem.get<std::string>() << "\n";
  for (const auto& sample : plan.value("samples", json::array())) {
    std::cout << "  " << sample.value("partitionKey", "") << " / " << sample.value("rowKey", "") << "  "
              << sample.value("bytes", 0ULL) << " bytes\n";
    for (const auto& step : sample.value("steps", json::array())) {
      std::cout << "    " << step.get<std::string>() << "\n";
    }
  }
  return problems.empty() ? kOk : kFailed;
}

}  // namespace tidemark::cli
