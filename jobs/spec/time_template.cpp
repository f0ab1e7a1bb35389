#include "jobs/spec/time_template.h"

#include <charconv>

namespace tidemark::jobs {
namespace {

constexpr int kMostOfAUnit = 1'000'000;
constexpr int kMostDays = 36'500;

std::unexpected<Error> refuse(std::string why) { return fail(ErrorCode::kScheduleInvalid, std::move(why)); }

std::unexpected<Error> unknown_moment(std::string_view name) {
  return refuse("{" + std::string(name.substr(0, 64)) +
                "} is no moment: use {now}, {today} or such as {now-60d}, {now-12h}, {today-7d}; {{ and }} for braces");
}

struct Offset {
  int number = 0;
  char unit = 'd';
};

/// "", "-60d", "+90m".
std::optional<Offset> offset_of(std::string_view text) {
  if (text.empty()) return Offset{};
  Offset out;
  const bool minus = text.front() == '-';
  if ((!minus && text.front() != '+') || text.size() < 3) return std::nullopt;
  out.unit = text.back();
  const auto* end = text.data() + text.size() - 1;
  const auto [stop, error] = std::from_chars(text.data() + 1, end, out.number);
  if (error != std::errc() || stop != end || out.number < 0 || out.number > kMostOfAUnit) return std::nullopt;
  if (minus) out.number = -out.number;
  return out;
}

std::optional<Duration> length_of(Offset offset) {
  using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): of this function only
  constexpr std::pair<char, Duration> kUnits[] = {{'s', 1s}, {'m', 1min}, {'h', 1h}, {'d', 24h}, {'w', 24h * 7}};
  for (const auto& [unit, length] : kUnits) {
    if (unit == offset.unit) return offset.number * length;
  }
  return std::nullopt;
}

Result<Time> moment(std::string_view name, Time due, TimeZone zone) {
  const bool today = name.starts_with("today");
  if (!today && !name.starts_with("now")) return unknown_moment(name);
  const auto offset = offset_of(name.substr(today ? 5 : 3));
  const auto length = offset ? length_of(*offset) : std::nullopt;
  if (!length || *length > std::chrono::hours(24) * kMostDays || *length < -std::chrono::hours(24) * kMostDays) {
    return unknown_moment(name);
  }
  if (!today) return due + *length;
  if (offset->unit != 'd' && offset->unit != 'w') return unknown_moment(name);
  return zone.start_of_day(due, offset->unit == 'd' ? offset->number : 7 * offset->number);
}

}  // namespace

Result<std::string> fill_time_template(std::string_view text, Time due, TimeZone zone) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c != '{' && c != '}') {
      out += c;
      continue;
    }
    if (i + 1 < text.size() && text[i + 1] == c) {
      out += c;
      ++i;
      continue;
    }
    const auto end = c == '{' ? text.find('}', i) : std::string_view::npos;
    if (end == std::string_view::npos) return refuse("a brace has no partner (write {{ or }} for a brace)");
    auto filled = TRY(moment(text.substr(i + 1, end - i - 1), due, zone));
    out += to_iso8601(filled);
    i = end;
  }
  return out;
}

}  // namespace tidemark::jobs
