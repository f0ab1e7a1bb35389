#include "jobs/spec/time_template.h"

#include <charconv>

#include "common/base/text.h"

namespace tidemark::jobs {
namespace {

constexpr int kMostOfAUnit = 1'000'000;
constexpr int kMostDays = 36'500;

std::unexpected<Error> refuse_time(std::string why) { return fail(ErrorCode::kScheduleInvalid, std::move(why)); }

std::unexpected<Error> unknown_moment(std::string_view name) {
  return refuse_time(
      "{" + std::string(beginning_of(name, 64)) +
      "} is no moment: use {now}, {today} or such as {now-60d}, {now-12h}, {today-7d}; {{ and }} for braces");
}

struct Offset {
  int number = 0;
  char unit = 'd';
};

/// Parses "", "-60d", "+90m".
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
  using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): only in this function
  constexpr std::pair<char, Duration> kUnits[] = {{'s', 1s}, {'m', 1min}, {'h', 1h}, {'d', 24h}, {'w', 24h * 7}};
  for (const auto& [unit, length] : kUnits) {
    if (unit == offset.unit) return offset.number * length;
  }
  return std::nullopt;
}

/// Returns the fields of a local time that forms can name.
std::optional<std::string> field(std::string_view letters, const TimeZone::LocalTime& at) {
  const std::pair<std::string_view, int> fields[] = {{"yyyy", at.year}, {"MM", at.month},  {"dd", at.day},
                                                     {"HH", at.hour},   {"mm", at.minute}, {"ss", at.second}};
  for (const auto& [name, number] : fields) {
    if (name != letters) continue;
    const auto digits = std::to_string(number);
    return std::string(name.size() - std::min(name.size(), digits.size()), '0') + digits;
  }
  return std::nullopt;
}

Result<std::string> formatted(std::string_view form, Time time, TimeZone zone) {
  const auto local = zone.local(time);
  std::string out;
  do {
    const auto same = form.empty() ? 0 : std::min(form.find_first_not_of(form.front()), form.size());
    const bool separates = form.starts_with('-') || form.starts_with('_');
    const auto text = separates ? std::string(form.substr(0, same)) : field(form.substr(0, same), local);
    if (!text) {
      return refuse_time("'" + std::string(beginning_of(form, 64)) +
                         "' is no form of a moment: use yyyy, MM, dd, HH, mm and ss, such as {today-1d:yyyyMMdd}");
    }
    out += *text;
    form.remove_prefix(same);
  } while (!form.empty());
  return out;
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

/// Returns the text for the contents of two braces.
Result<std::string> written(std::string_view text, Time due, TimeZone zone) {
  const auto colon = text.find(':');
  const auto time = TRY(moment(text.substr(0, colon), due, zone));
  if (colon == std::string_view::npos) return to_iso8601(time);
  return formatted(text.substr(colon + 1), time, zone);
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
    if (end == std::string_view::npos) return refuse_time("a brace has no partner (write {{ or }} for a brace)");
    out += TRY(written(text.substr(i + 1, end - i - 1), due, zone));
    i = end;
  }
  return out;
}

}  // namespace tidemark::jobs
