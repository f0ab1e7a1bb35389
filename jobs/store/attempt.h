// One attempt at a job, as its record and its message keep it. Pure.
//   {"number":N,"worker":W,"startedAt":T,"durationMs":N,"outcome":O,"errorClass":C,"code":NAME,"message":M}
#pragma once
#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/time.h"

namespace tidemark::jobs {

/// The newest attempts are kept; messages are cut. A message's annotation stays under about 100 KiB.
inline constexpr std::size_t kMaxKeptAttempts = 100;
inline constexpr std::size_t kMaxKeptErrorBytes = 800;

struct Attempt {
  std::uint32_t number = 0;
  std::string worker;
  Time started_at{};
  std::int64_t duration_ms = 0;
  std::string outcome;      // "succeeded", "failed", "cancelled", "lost": its worker ended without a word
  std::string error_class;  // "transient", "throttled", "conflict", "permanent"
  std::string code;         // the error's name
  std::string message;
};

nlohmann::json to_json(const Attempt& attempt);
/// Tolerant: absent or odd members are left at their defaults.
Attempt attempt_from_json(const nlohmann::json& json);

/// The history in a record: the newest, within what a property holds.
std::string history_text(const std::vector<Attempt>& attempts);
std::vector<Attempt> parse_history(std::string_view text);

}  // namespace tidemark::jobs
