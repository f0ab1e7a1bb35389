#include "api/cli/print_plan.h"

#include <iostream>

#include "api/cli/answers.h"

namespace tidemark::cli {

using nlohmann::json;

namespace {

const char* unit_of(const std::string& kind) {
  if (kind == "redrive" || kind == "purge") return "message";
  if (kind == "transaction") return "step";
  return kind == "callback" ? "call" : "entity";
}

}  // namespace

int print_plan(const GlobalOptions& options, const json& plan) {
  const auto problems = plan.value("problems", json::array());
  if (options.json) {
    std::cout << plan << "\n";
    return problems.empty() ? kOk : kFailed;
  }
  const auto kind = plan.value("kind", "");
  std::cout << kind << ": " << (plan.value("complete", true) ? "" : "at least ")
            << counted(plan.value("keys", 0ULL), unit_of(kind)) << ", " << readable_bytes(plan.value("bytes", 0ULL))
            << ", about " << readable_duration(plan.value("seconds", 0.0)) << "\n";
  for (const auto& problem : problems) std::cout << "would fail: " << problem.get<std::string>() << "\n";
  for (const auto& sample : plan.value("samples", json::array())) {
    const bool of_an_entity = !cell(sample, "partitionKey").empty() || !cell(sample, "rowKey").empty();
    if (of_an_entity) {
      std::cout << "  " << cell(sample, "partitionKey") << " / " << cell(sample, "rowKey") << "  "
                << readable_bytes(sample.value("bytes", 0ULL)) << "\n";
    }
    for (const auto& step : sample.value("steps", json::array())) {
      std::cout << "    " << step.get<std::string>() << "\n";
    }
  }
  return problems.empty() ? kOk : kFailed;
}

}  // namespace tidemark::cli
