// The history of a job, as its record and its message keep it: attempts, and what happened between them. Pure.
//   {"round":N,"number":N,"worker":W,"startedAt":T,"durationMs":N,"outcome":O,"errorClass":C,"code":NAME,"message":M}
//   {"round":N,"startedAt":T,"outcome":"edited"|"sentBack","by":WHO,"done":N}
// A round begins when the job is submitted and each time that it is sent back from poison; attempts are counted anew.
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

inline constexpr std::string_view kEdited = "edited";
inline constexpr std::string_view kSentBack = "sentBack";

struct Attempt {
  std::uint32_t number = 0;  // 0: no attempt but a mark
  std::string worker;
  Time started_at{};
  std::int64_t duration_ms = 0;
  std::string outcome;      // "succeeded", "failed", "cancelled", "lost": its worker ended without a word; or a mark
  std::string error_class;  // "transient", "throttled", "conflict", "permanent"
  std::string code;         // the error's name
  std::string message;
  std::uint32_t round = 1;
  std::string by = {};     // of a mark: the address of a caller of the api, or a redrive job's id
  std::uint64_t done = 0;  // of an edit: what the job had done until then

  /// Whether both are entries of the same event.
  [[nodiscard]] bool is_same(const Attempt& other) const {
    return number == other.number && round == other.round && outcome == other.outcome && started_at == other.started_at;
  }
};

/// The round that goes on after this history.
std::uint32_t round_after(const std::vector<Attempt>& history);
/// Notes in a message's history that it was edited or sent back.
void add_mark(std::vector<Attempt>& history, std::string_view outcome, Time at, std::string by);
/// Adds the marks of `from` that `history` does not have.
void add_marks(std::vector<Attempt>& history, const std::vector<Attempt>& from);

nlohmann::json to_json(const Attempt& attempt);

/// The newest ones, within what a message holds.
nlohmann::json kept_json(const std::vector<Attempt>& attempts);
/// Tolerant: absent or odd members are left at their defaults.
std::vector<Attempt> attempts_from_json(const nlohmann::json& list);
/// The history in a record: the newest, within what a property holds.
std::string history_text(const std::vector<Attempt>& attempts);
std::vector<Attempt> parse_history(std::string_view text);

}  // namespace tidemark::jobs
