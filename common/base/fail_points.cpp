#include "common/base/fail_points.h"

#include <algorithm>
#include <climits>
#include <csignal>
#include <cstdlib>

#include "common/base/numbers.h"

namespace tidemark {
namespace {

// Set while globals are constructed, in an order that is unspecified across files, so it must need no construction.
constinit const FailPoint* last_registered = nullptr;

}  // namespace

FailPoint::FailPoint(std::string_view step, std::string_view moment)
    : step_(step), moment_(moment), next_(std::exchange(last_registered, this)) {}

std::string FailPoint::name() const { return std::string(step_).append(".").append(moment_); }

void FailPoint::count_down() const {
  // SIGKILL runs no handler, no destructor and no flush, exactly as in the imitated crash.
  if (remaining_.fetch_sub(1) == 1) std::raise(SIGKILL);
}

std::vector<std::string> fail_point_names() {
  std::vector<std::string> names;
  for (const auto* point = last_registered; point != nullptr; point = point->next_) names.push_back(point->name());
  std::sort(names.begin(), names.end());
  return names;
}

Result<void> arm_fail_point(std::string_view text) {
  for (auto* point = last_registered; point != nullptr; point = point->next_) point->armed_.store(false);
  if (text.empty()) return {};
  const auto colon = text.find(':');
  const auto name = text.substr(0, colon);
  const auto count = colon == text.npos ? 1 : parse_number<int>(text.substr(colon + 1), 1, INT_MAX);
  if (!count) return fail(ErrorCode::kConfigInvalid, "TIDEMARK_FAIL_POINT: the count must be a number from 1.");
  for (auto* point = last_registered; point != nullptr; point = point->next_) {
    if (point->name() != name) continue;
    point->remaining_.store(*count);
    point->armed_.store(true);
    return {};
  }
  return fail(ErrorCode::kConfigInvalid,
              "TIDEMARK_FAIL_POINT: there is no fail point '" + std::string(name) + "'; see --list-fail-points.");
}

Result<void> arm_fail_point_from_environment() {
  const char* text = std::getenv("TIDEMARK_FAIL_POINT");
  return arm_fail_point(text == nullptr ? "" : text);
}

}  // namespace tidemark
