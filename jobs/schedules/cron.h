// The due times of a schedule: five fields as crontab(5) has them (minute hour day-of-month month day-of-week; lists,
// ranges, steps, English names of months and days, 7 for Sunday, @hourly @daily @midnight @weekly @monthly @yearly
// @annually), read in a time zone of the tz database. As in crontab(5), a day matches if either day field does once
// both are restricted. When clocks change, a schedule that names hours runs once for a time that comes twice, and at
// the moment of the change for a time that is skipped; a schedule whose hour is '*' alone goes on evenly. An hour with
// a step names hours: Debian's cron takes '*/12' for any hour, so where midnight comes twice or is skipped, it runs
// twice or not at all. Pure values; any thread.
#pragma once
#include <bitset>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/error.h"
#include "common/base/time.h"

namespace date {
class time_zone;
}

namespace tidemark::jobs {

class TimeZone {
 public:
  /// Finds a zone such as "UTC" or "Europe/Berlin". kInvalidInput names the mistake.
  static Result<TimeZone> find(const std::string& name);
  /// Returns the first moment of the day that is `days` days after (before, if negative) the day of `at`.
  [[nodiscard]] Time start_of_day(Time at, int days) const;
  struct LocalTime {
    int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
  };
  [[nodiscard]] LocalTime local(Time at) const;

 private:
  friend class CronExpression;
  explicit TimeZone(const date::time_zone* zone) : zone_(zone) {}
  const date::time_zone* zone_;  // lives as long as the program
};

class CronExpression {
 public:
  /// kInvalidInput names the field and its possible values.
  static Result<CronExpression> parse(std::string_view text);
  /// Returns the first due time after `after`; nothing if there is none in 41 years (30 February).
  [[nodiscard]] std::optional<Time> next(Time after, TimeZone zone) const;

 private:
  struct LocalDay;
  [[nodiscard]] bool matches(const LocalDay& day) const;
  /// Returns the first matching local time in [from, until), both since 1970.
  [[nodiscard]] std::optional<std::chrono::seconds> first_match(std::chrono::seconds from,
                                                                std::chrono::seconds until) const;

  std::bitset<60> minutes_;
  std::bitset<24> hours_;
  std::bitset<32> days_of_month_;                            // 1..31
  std::bitset<13> months_;                                   // 1..12
  std::bitset<7> days_of_week_;                              // 0 is Sunday
  bool every_hour_ = false;                                  // the field is '*'
  bool any_day_of_month_ = false, any_day_of_week_ = false;  // the field begins with '*'
};

}  // namespace tidemark::jobs
