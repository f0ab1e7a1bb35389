#include "jobs/store/attempt.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace tidemark::jobs {
namespace {

using nlohmann::json;

constexpr std::size_t kHistoryAttempts = 40;
constexpr std::size_t kHistoryErrorBytes = 300;
constexpr std::size_t kHistoryBytes = 30'000;

std::string text_of(const json& object, const char* name) {
  auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::int64_t number_of(const json& object, const char* name) {
  auto found = object.find(name);
  return found != object.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
}

}  // namespace

json to_json(const Attempt& attempt) {
  json out = {{"number", attempt.number},
              {"worker", attempt.worker},
              {"startedAt", to_iso8601(attempt.started_at)},
              {"durationMs", attempt.duration_ms},
              {"outcome", attempt.outcome}};
  if (!attempt.code.empty()) {
    out["errorClass"] = attempt.error_class;
    out["code"] = attempt.code;
    out["message"] = attempt.message.substr(0, kMaxKeptErrorBytes);
  }
  return out;
}

Attempt attempt_from_json(const json& object) {
  Attempt attempt;
  if (!object.is_object()) return attempt;
  attempt.number = static_cast<std::uint32_t>(std::clamp<std::int64_t>(number_of(object, "number"), 0, UINT32_MAX));
  attempt.worker = text_of(object, "worker");
  attempt.started_at = parse_iso8601(text_of(object, "startedAt")).value_or(Time{});
  attempt.duration_ms = number_of(object, "durationMs");
  attempt.outcome = text_of(object, "outcome");
  attempt.error_class = text_of(object, "errorClass");
  attempt.code = text_of(object, "code");
  attempt.message = text_of(object, "message");
  return attempt;
}

std::string history_text(const std::vector<Attempt>& attempts) {
  json list = json::array();
  std::size_t bytes = 2;
  for (auto it = attempts.rbegin(); it != attempts.rend() && list.size() < kHistoryAttempts; ++it) {
    auto attempt = *it;
    attempt.message.resize(std::min(attempt.message.size(), kHistoryErrorBytes));
    auto item = to_json(attempt);
    bytes += item.dump(-1, ' ', false, json::error_handler_t::ignore).size() + 1;
    if (bytes > kHistoryBytes) break;
    list.insert(list.begin(), std::move(item));
  }
  // Cutting a text may have left half a character at its end.
  return list.dump(-1, ' ', false, json::error_handler_t::ignore);
}

std::vector<Attempt> parse_history(std::string_view text) {
  std::vector<Attempt> out;
  const auto list = json::parse(text, nullptr, false);
  if (!list.is_array()) return out;
  for (const auto& item : list) out.push_back(attempt_from_json(item));
  return out;
}

}  // namespace tidemark::jobs
