#include "jobs/cron.h"

#include <date/tz.h>

#include <array>
#include <charconv>
#include <vector>

namespace tidemark::jobs {
namespace {

constexpr int kSearchDays = 8 * 366;  // long enough for every 29 February
/// No clock was ever put forward or back by more than a day.
constexpr auto kGreatestChange = std::chrono::hours(25);

struct Field {
  std::string_view name;
  int first, last;
  std::string_view names;  // three letters each, the first one for `first`
};
constexpr Field kMinute{"minute", 0, 59, ""};
constexpr Field kHour{"hour", 0, 23, ""};
constexpr Field kDayOfMonth{"day of month", 1, 31, ""};
constexpr Field kMonth{"month", 1, 12, "janfebmaraprmayjunjulaugsepoctnovdec"};
constexpr Field kDayOfWeek{"day of week", 0, 7, "sunmontuewedthufrisat"};

std::unexpected<Error> wrong(const Field& field, std::string_view part) {
  return fail(ErrorCode::kInvalidInput, std::string("cron: '").append(part).append("' is not a ").append(field.name) +
                                            ": use " + std::to_string(field.first) + " to " +
                                            std::to_string(field.last) +
                                            ", a range a-b, a list a,b, a step */n or a-b/n" +
                                            (field.names.empty() ? "." : ", or a name of three letters."));
}

std::optional<int> parse_number(std::string_view text) {
  int number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<int> parse_value(const Field& field, std::string_view text) {
  auto value = parse_number(text);
  if (!value && text.size() == 3) {
    std::string lower(text);
    for (auto& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const auto at = field.names.find(lower);
    if (at != std::string_view::npos && at % 3 == 0) value = field.first + static_cast<int>(at / 3);
  }
  if (!value || *value < field.first || *value > field.last) return std::nullopt;
  return value;
}

std::vector<std::string_view> split(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto at = text.find_first_of(separators);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

template <std::size_t size>
Result<void> parse_field(const Field& field, std::string_view text, std::bitset<size>& into) {
  for (const auto part : split(text, ",")) {
    const auto slash = part.find('/');
    const auto range = part.substr(0, slash);
    int step = 1;
    if (slash != std::string_view::npos) {
      const auto given = parse_number(part.substr(slash + 1));
      if (!given || *given < 1 || *given > field.last) return wrong(field, part);
      step = *given;
    }
    auto from = std::optional<int>(field.first), to = std::optional<int>(field.last);
    if (range != "*") {
      const auto dash = range.find('-');
      from = parse_value(field, range.substr(0, dash));
      to = dash == std::string_view::npos ? from : parse_value(field, range.substr(dash + 1));
      const bool step_of_one_value = slash != std::string_view::npos && dash == std::string_view::npos;
      if (!from || !to || *from > *to || step_of_one_value) return wrong(field, part);
    }
    for (int value = *from; value <= *to; value += step) into.set(static_cast<std::size_t>(value) % size);
  }
  return {};
}

std::vector<std::string_view> words_of(std::string_view text) {
  auto words = split(text, " \t");
  std::erase(words, std::string_view());
  return words;
}

std::string_view expand(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kShorthands{{{"@hourly", "0 * * * *"},
                                                                                      {"@daily", "0 0 * * *"},
                                                                                      {"@midnight", "0 0 * * *"},
                                                                                      {"@weekly", "0 0 * * 0"},
                                                                                      {"@monthly", "0 0 1 * *"},
                                                                                      {"@yearly", "0 0 1 1 *"},
                                                                                      {"@annually", "0 0 1 1 *"}}};
  for (const auto& [shorthand, meaning] : kShorthands) {
    if (text == shorthand) return meaning;
  }
  return text;
}

}  // namespace

Result<TimeZone> TimeZone::find(const std::string& name) {
  try {
    return TimeZone(date::locate_zone(name));
  } catch (const std::exception&) {  // no such zone, or no tz database on this machine
    return fail(ErrorCode::kInvalidInput, "There is no time zone '" + name +
                                              "' here: use a name of the tz database such as UTC or "
                                              "Europe/Berlin (Debian package tzdata).");
  }
}

Time TimeZone::start_of_day(Time at, int days) const {
  const auto day = date::floor<date::days>(zone_->to_local(std::chrono::floor<std::chrono::seconds>(at)));
  const date::local_seconds midnight = day + date::days(days);
  const auto info = zone_->get_info(midnight);
  if (info.result == date::local_info::nonexistent) return info.first.end;
  return date::sys_seconds(midnight.time_since_epoch()) - info.first.offset;
}

Result<CronExpression> CronExpression::parse(std::string_view text) {
  auto fields = words_of(text);
  if (fields.size() == 1) fields = words_of(expand(fields.front()));
  if (fields.size() != 5) {
    return fail(ErrorCode::kInvalidInput,
                "cron: five fields are needed (minute hour day-of-month month day-of-week), or one of @hourly @daily "
                "@weekly @monthly @yearly.");
  }
  CronExpression cron;
  if (auto ok = parse_field(kMinute, fields[0], cron.minutes_); !ok) return fail(std::move(ok.error()));
  if (auto ok = parse_field(kHour, fields[1], cron.hours_); !ok) return fail(std::move(ok.error()));
  if (auto ok = parse_field(kDayOfMonth, fields[2], cron.days_of_month_); !ok) return fail(std::move(ok.error()));
  if (auto ok = parse_field(kMonth, fields[3], cron.months_); !ok) return fail(std::move(ok.error()));
  if (auto ok = parse_field(kDayOfWeek, fields[4], cron.days_of_week_); !ok) return fail(std::move(ok.error()));
  cron.every_hour_ = fields[1].front() == '*';
  cron.any_day_of_month_ = fields[2].front() == '*';
  cron.any_day_of_week_ = fields[4].front() == '*';
  return cron;
}

struct CronExpression::LocalDay {
  explicit LocalDay(date::local_days day) : date(day), weekday(day) {}
  date::year_month_day date;
  date::weekday weekday;
};

bool CronExpression::matches(const LocalDay& day) const {
  if (!months_.test(static_cast<unsigned>(day.date.month()))) return false;
  const bool by_date = days_of_month_.test(static_cast<unsigned>(day.date.day()));
  const bool by_weekday = days_of_week_.test(day.weekday.c_encoding());
  return any_day_of_month_ || any_day_of_week_ ? by_date && by_weekday : by_date || by_weekday;
}

std::optional<Time> CronExpression::next(Time after, TimeZone zone) const {
  if (auto found = next_between_changes(after, zone)) return found;
  return next_over_changes(after, zone);
}

/// The common case, in microseconds: from `after` to the due time the zone's offset is the same, and a day before and
/// after it too. Nothing if that is not so.
std::optional<Time> CronExpression::next_between_changes(Time after, TimeZone zone) const {
  const auto info = zone.zone_->get_info(std::chrono::floor<std::chrono::seconds>(after));
  const auto minute = std::chrono::floor<std::chrono::minutes>(after) + std::chrono::minutes(1);
  if (after < info.begin + kGreatestChange) return std::nullopt;
  const date::local_seconds from((minute + info.offset).time_since_epoch());
  const date::local_seconds until((info.end - kGreatestChange + info.offset).time_since_epoch());
  auto day = date::floor<date::days>(from);
  for (int searched = 0; searched < kSearchDays && day < until; ++searched, day += date::days(1)) {
    if (!matches(LocalDay(day))) continue;
    for (std::size_t hour = 0; hour < hours_.size(); ++hour) {
      if (!hours_.test(hour) || day + std::chrono::hours(hour + 1) <= from) continue;
      for (std::size_t minute_of_hour = 0; minute_of_hour < minutes_.size(); ++minute_of_hour) {
        const date::local_seconds local = day + std::chrono::hours(hour) + std::chrono::minutes(minute_of_hour);
        if (!minutes_.test(minute_of_hour) || local < from) continue;
        if (local >= until) return std::nullopt;
        return date::sys_seconds(local.time_since_epoch()) - info.offset;
      }
    }
  }
  return std::nullopt;
}

std::optional<Time> CronExpression::next_over_changes(Time after, TimeZone zone) const {
  std::optional<Time> best;
  const auto consider = [&](auto instant) {
    const Time time = instant;
    if (time > after && (!best || time < *best)) best = time;
  };
  const auto after_seconds = std::chrono::floor<std::chrono::seconds>(after);
  // From the day before: a skipped time of its last hour may be due today.
  auto day = date::floor<date::days>(zone.zone_->to_local(after_seconds)) - date::days(1);
  for (int searched = 0; searched < kSearchDays && !best; ++searched, day += date::days(1)) {
    if (!matches(LocalDay(day))) continue;
    for (std::size_t hour = 0; hour < hours_.size(); ++hour) {
      for (std::size_t minute = 0; hours_.test(hour) && minute < minutes_.size(); ++minute) {
        if (!minutes_.test(minute)) continue;
        const date::local_seconds local = day + std::chrono::hours(hour) + std::chrono::minutes(minute);
        const auto info = zone.zone_->get_info(local);
        const date::sys_seconds as_if_utc(local.time_since_epoch());
        if (info.result == date::local_info::nonexistent) {
          if (!every_hour_) consider(info.first.end);
          continue;
        }
        consider(as_if_utc - info.first.offset);
        if (info.result == date::local_info::ambiguous && every_hour_) consider(as_if_utc - info.second.offset);
      }
    }
  }
  return best;
}

}  // namespace tidemark::jobs
