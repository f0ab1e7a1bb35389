#include "jobs/schedules/cron.h"

#include <date/tz.h>

#include <array>
#include <charconv>
#include <vector>

namespace tidemark::jobs {
namespace {

/// Long enough for every 29 February that is a certain day of the week: these days are 40 years apart where a year such
/// as 2100 lies in between.
constexpr int kSearchDays = 41 * 366;
/// Before this time no zone changed its clocks.
constexpr auto kFirstChange = date::sys_days(date::year(1800) / 1 / 1);

struct CronField {
  std::string_view name;
  int first, last;
  std::string_view names;  // three letters each, the first one for `first`
};
constexpr CronField kMinute{"minute", 0, 59, ""};
constexpr CronField kHour{"hour", 0, 23, ""};
constexpr CronField kDayOfMonth{"day of month", 1, 31, ""};
constexpr CronField kMonth{"month", 1, 12, "janfebmaraprmayjunjulaugsepoctnovdec"};
constexpr CronField kDayOfWeek{"day of week", 0, 7, "sunmontuewedthufrisat"};

std::unexpected<Error> wrong(const CronField& field, std::string_view part) {
  return fail(ErrorCode::kInvalidInput,
              std::string("cron: '").append(part).append("' is not a valid ").append(field.name) + ": use " +
                  std::to_string(field.first) + " to " + std::to_string(field.last) +
                  ", a range a-b, a list a,b, a step */n or a-b/n" +
                  (field.names.empty() ? "." : ", or a name of three letters."));
}

std::optional<int> parse_number(std::string_view text) {
  int number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<int> parse_value(const CronField& field, std::string_view text) {
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
Result<void> parse_field(const CronField& field, std::string_view text, std::bitset<size>& into) {
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

TimeZone::LocalTime TimeZone::local(Time at) const {
  const auto time = zone_->to_local(std::chrono::floor<std::chrono::seconds>(at));
  const auto midnight = date::floor<date::days>(time);
  const date::year_month_day day(midnight);
  const auto clock = date::make_time(time - midnight);
  return {.year = static_cast<int>(day.year()),
          .month = static_cast<int>(static_cast<unsigned>(day.month())),
          .day = static_cast<int>(static_cast<unsigned>(day.day())),
          .hour = static_cast<int>(clock.hours().count()),
          .minute = static_cast<int>(clock.minutes().count()),
          .second = static_cast<int>(clock.seconds().count())};
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
  TRY(parse_field(kMinute, fields[0], cron.minutes_));
  TRY(parse_field(kHour, fields[1], cron.hours_));
  TRY(parse_field(kDayOfMonth, fields[2], cron.days_of_month_));
  TRY(parse_field(kMonth, fields[3], cron.months_));
  TRY(parse_field(kDayOfWeek, fields[4], cron.days_of_week_));
  cron.every_hour_ = fields[1] == "*";
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

std::optional<std::chrono::seconds> CronExpression::first_match(std::chrono::seconds from,
                                                                std::chrono::seconds until) const {
  auto day = date::floor<date::days>(date::local_seconds(from));
  for (; day.time_since_epoch() < until; day += date::days(1)) {
    if (!matches(LocalDay(day))) continue;
    for (std::size_t hour = 0; hour < hours_.size(); ++hour) {
      const std::chrono::seconds full = day.time_since_epoch() + std::chrono::hours(hour);
      if (!hours_.test(hour) || full + std::chrono::hours(1) <= from) continue;
      for (std::size_t minute = 0; minute < minutes_.size(); ++minute) {
        const auto local = full + std::chrono::minutes(minute);
        if (!minutes_.test(minute) || local < from) continue;
        if (local >= until) return std::nullopt;
        return local;
      }
    }
  }
  return std::nullopt;
}

// Goes from one change of the clocks to the next: in between, the difference between local time and UTC is constant.
std::optional<Time> CronExpression::next(Time after, TimeZone zone) const {
  using std::chrono::seconds;
  const auto second_after = std::chrono::floor<seconds>(after);
  const auto give_up = second_after + date::days(kSearchDays);
  for (auto period = zone.zone_->get_info(second_after);; period = zone.zone_->get_info(period.end)) {
    const seconds local_begin = period.begin.time_since_epoch() + period.offset;
    seconds begin = std::chrono::floor<std::chrono::minutes>(second_after.time_since_epoch() + period.offset) +
                    std::chrono::minutes(1);
    if (period.begin > second_after) begin = std::chrono::ceil<std::chrono::minutes>(local_begin);
    if (!every_hour_ && period.begin > kFirstChange) {
      const seconds before = zone.zone_->get_info(period.begin - seconds(1)).offset + period.begin.time_since_epoch();
      // Skipped times are due at the change; repeated times have already been due.
      if (period.begin > after && before < local_begin && first_match(before, local_begin)) return period.begin;
      begin = std::max(begin, before);
    }
    const auto end = std::min(period.end, give_up);
    if (const auto local = first_match(begin, end.time_since_epoch() + period.offset)) {
      return date::sys_seconds(*local - period.offset);
    }
    if (end == give_up) break;  // such as a zone that never changes
  }
  return std::nullopt;
}

}  // namespace tidemark::jobs
