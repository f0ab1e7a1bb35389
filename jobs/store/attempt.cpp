#include "jobs/store/attempt.h"

#include <algorithm>

#include "common/base/json.h"
#include "common/base/text.h"
#include "jobs/store/fields.h"

namespace tidemark::jobs {
namespace {

using nlohmann::json;

constexpr std::size_t kHistoryAttempts = 40;
constexpr std::size_t kHistoryErrorBytes = 300;
constexpr std::size_t kHistoryBytes = 30'000;

// clang-format off
constexpr std::tuple kAttemptFields{
    Field{"round", &Attempt::round},
    Field{"startedAt", &Attempt::started_at},
    Field{"outcome", &Attempt::outcome},
    Field{"by", &Attempt::by, kSparse},
    Field{"done", &Attempt::done, kSparse}};
/// The fields of an attempt that a mark does not have.
constexpr std::tuple kRunFields{
    Field{"number", &Attempt::number},
    Field{"worker", &Attempt::worker},
    Field{"durationMs", &Attempt::duration_ms}};
constexpr std::tuple kErrorFields{
    Field{"errorClass", &Attempt::error_class},
    Field{"code", &Attempt::code},
    Field{"message", &Attempt::message}};
// clang-format on

}  // namespace

std::uint32_t round_after(const std::vector<Attempt>& history) {
  if (history.empty()) return 1;
  return history.back().round + (history.back().outcome == kSentBack ? 1 : 0);
}

void add_mark(std::vector<Attempt>& history, std::string_view outcome, Time at, std::string by) {
  Attempt mark;
  mark.round = round_after(history);
  mark.started_at = at;
  mark.outcome = outcome;
  mark.by = std::move(by);
  history.push_back(std::move(mark));
}

void add_marks(std::vector<Attempt>& history, const std::vector<Attempt>& from) {
  // Marks of earlier rounds are not added: those that are missing were left out to stay within bounds.
  const auto round = history.empty() ? 1 : history.back().round;
  for (const auto& entry : from) {
    if (entry.number > 0 || entry.round < round) continue;
    const bool known = std::ranges::any_of(history, [&](const Attempt& other) { return entry.is_same(other); });
    if (!known) history.push_back(entry);
  }
}

json to_json(const Attempt& attempt) {
  json out;
  add_members(out, attempt, kAttemptFields);
  if (attempt.number > 0) add_members(out, attempt, kRunFields);
  if (attempt.code.empty()) return out;
  add_members(out, attempt, kErrorFields);
  out["message"] = beginning_of(attempt.message, kMaxKeptErrorBytes);
  return out;
}

json kept_json(const std::vector<Attempt>& attempts) {
  json out = json::array();
  const auto kept = std::min(attempts.size(), kMaxKeptAttempts);
  for (auto i = attempts.size() - kept; i < attempts.size(); ++i) out.push_back(to_json(attempts[i]));
  return out;
}

std::vector<Attempt> attempts_from_json(const json& list) {
  std::vector<Attempt> out;
  if (!list.is_array()) return out;
  for (const auto& item : list) {
    auto& attempt = out.emplace_back();
    read_members(item, attempt, kAttemptFields);
    read_members(item, attempt, kRunFields);
    read_members(item, attempt, kErrorFields);
  }
  return out;
}

std::string history_text(const std::vector<Attempt>& attempts) {
  json list = json::array();
  std::size_t bytes = 2;
  for (auto it = attempts.rbegin(); it != attempts.rend() && list.size() < kHistoryAttempts; ++it) {
    auto attempt = *it;
    attempt.message = beginning_of(attempt.message, kHistoryErrorBytes);
    auto item = to_json(attempt);
    bytes += item.dump(-1, ' ', false, json::error_handler_t::ignore).size() + 1;
    if (bytes > kHistoryBytes) break;
    list.insert(list.begin(), std::move(item));
  }
  // Cutting a text may have left half a character at its end.
  return list.dump(-1, ' ', false, json::error_handler_t::ignore);
}

std::vector<Attempt> parse_history(std::string_view text) { return attempts_from_json(json_or_discarded(text)); }

}  // namespace tidemark::jobs
