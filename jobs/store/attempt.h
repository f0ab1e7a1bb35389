// The history of a job, as its record and its message keep it: attempts, and the events between them. Pure.
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
  std::uint32_t number = 0;  // 0: a mark, not an attempt
  std::string worker;
  Time started_at{};
  std::int64_t duration_ms = 0;
  // "succeeded", "failed", "cancelled", "lost": its worker stopped without a report, "ended": its worker ended it with
  // steps, which others take; or a mark
  std::string outcome;
  std::string error_class;  // "transient", "throttled", "conflict", "permanent"
  std::string code;         // the error's name
  std::string message;
  std::uint32_t round = 1;
  std::string by = {};     // for a mark: the address of a caller of the api, or the id of a redrive job
  std::uint64_t done = 0;  // for an edit: how much the job had done until then

  /// Tells whether both are entries of the same event.
  [[nodiscard]] bool is_same(const Attempt& other) const {
    return number == other.number && round == other.round && outcome == other.outcome && started_at == other.started_at;
  }
};

/// Returns the round that continues after this history.
std::uint32_t round_after(const std::vector<Attempt>& history);
/// Notes in a message's history that it was edited or sent back.
void add_mark(std::vector<Attempt>& history, std::string_view outcome, Time at, std::string by);
/// Adds the marks of `from` that `history` does not have.
void add_marks(std::vector<Attempt>& history, const std::vector<Attempt>& from);

nlohmann::json to_json(const Attempt& attempt);

/// Returns the newest attempts, as many as a message can hold.
nlohmann::json kept_json(const std::vector<Attempt>& attempts);
/// Tolerant: absent or odd members are left at their defaults.
std::vector<Attempt> attempts_from_json(const nlohmann::json& list);
/// Returns the history for a record: the newest attempts, as many as a property can hold.
std::string history_text(const std::vector<Attempt>& attempts);
std::vector<Attempt> parse_history(std::string_view text);

}  // namespace tidemark::jobs
