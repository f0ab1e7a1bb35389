#include "workers/runtime/fail_points.h"

#include <charconv>
#include <csignal>
#include <cstdlib>
#include <string>

namespace tidemark::workers {
namespace {

constexpr std::string_view kNames[] = {
#define X(enumerator, name) name,
    TIDEMARK_FAIL_POINTS(X)
#undef X
};

std::atomic<int> remaining{0};

}  // namespace

namespace detail {
std::atomic<int> armed_fail_point{-1};

void reach_armed_fail_point() {
  // SIGKILL: no handler, no destructor, no flush, exactly as the crash that is imitated.
  if (remaining.fetch_sub(1) == 1) std::raise(SIGKILL);
}
}  // namespace detail

std::span<const std::string_view> fail_point_names() { return kNames; }

Result<void> arm_fail_point(std::string_view text) {
  detail::armed_fail_point.store(-1);
  if (text.empty()) return {};
  const auto colon = text.find(':');
  const auto name = text.substr(0, colon);
  int count = 1;
  if (colon != std::string_view::npos) {
    const auto digits = text.substr(colon + 1);
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), count);
    if (parsed.ec != std::errc() || parsed.ptr != digits.data() + digits.size() || count < 1) {
      return fail(ErrorCode::kConfigInvalid, "TIDEMARK_FAIL_POINT: the count must be a number from 1.");
    }
  }
  for (int i = 0; i < static_cast<int>(std::size(kNames)); ++i) {
    if (kNames[i] != name) continue;
    remaining.store(count);
    detail::armed_fail_point.store(i);
    return {};
  }
  return fail(ErrorCode::kConfigInvalid,
              "TIDEMARK_FAIL_POINT: there is no fail point '" + std::string(name) + "'; see --list-fail-points.");
}

Result<void> arm_fail_point_from_environment() {
  const char* text = std::getenv("TIDEMARK_FAIL_POINT");
  return arm_fail_point(text == nullptr ? "" : text);
}

}  // namespace tidemark::workers
