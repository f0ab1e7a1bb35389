// Cron expressions: against a naive minute-by-minute evaluation, over clock changes, and refusals.
#include <date/tz.h>
#include <gtest/gtest.h>

#include "jobs/schedules/cron.h"
#include "tests/support/seeded_random.h"

namespace tidemark::jobs {
namespace {

Time at(std::string_view text) { return *parse_iso8601(text); }

std::string next(std::string_view cron, std::string_view after, const std::string& zone = "UTC") {
  const auto found = CronExpression::parse(cron)->next(at(after), *TimeZone::find(zone));
  return found ? to_iso8601(*found) : "never";
}

TEST(Cron, DueTimes) {
  EXPECT_EQ(next("0 3 * * *", "2026-11-21T03:00:00Z"), "2026-11-22T03:00:00Z");
  EXPECT_EQ(next("0 3 * * *", "2026-11-21T02:59:59.9999999Z"), "2026-11-21T03:00:00Z");
  EXPECT_EQ(next("*/15 * * * *", "2026-11-21T10:07:00Z"), "2026-11-21T10:15:00Z");
  EXPECT_EQ(next("5-20/5,59 8 * * *", "2026-11-21T08:15:00Z"), "2026-11-21T08:20:00Z");
  EXPECT_EQ(next("0 0 29 2 *", "2026-11-21T00:00:00Z"), "2028-02-29T00:00:00Z");
  EXPECT_EQ(next("0 0 30 2 *", "2026-11-21T00:00:00Z"), "never");
  EXPECT_EQ(next("0 9 * * MON-fri", "2026-11-20T09:00:00Z"), "2026-11-23T09:00:00Z");
  EXPECT_EQ(next("0 9 * * 7", "2026-11-21T00:00:00Z"), "2026-11-22T09:00:00Z");
  EXPECT_EQ(next("0 0 1 jan *", "2026-11-21T00:00:00Z"), "2027-01-01T00:00:00Z");
  EXPECT_EQ(next("@hourly", "2026-11-21T10:00:00Z"), "2026-11-21T11:00:00Z");
  EXPECT_EQ(next("  @weekly", "2026-11-21T10:00:00Z"), "2026-11-22T00:00:00Z");
}

TEST(Cron, EitherDayOnceBothAreRestricted) {
  EXPECT_EQ(next("0 0 13 * 5", "2026-11-21T00:00:00Z"), "2026-11-27T00:00:00Z");   // Friday
  EXPECT_EQ(next("0 0 13 * 5", "2026-12-12T00:00:00Z"), "2026-12-13T00:00:00Z");   // the 13th
  EXPECT_EQ(next("0 0 */2 * 1", "2026-11-21T00:00:00Z"), "2026-11-23T00:00:00Z");  // odd days that are Mondays
}

TEST(Cron, ClockChanges) {
  // Berlin skips 02:00 to 03:00 on 2026-03-29 and has it twice on 2026-10-25.
  EXPECT_EQ(next("30 2 * * *", "2026-03-28T12:00:00Z", "Europe/Berlin"), "2026-03-29T01:00:00Z");
  EXPECT_EQ(next("30 2 * * *", "2026-03-29T01:00:00Z", "Europe/Berlin"), "2026-03-30T00:30:00Z");
  EXPECT_EQ(next("30 2 * * *", "2026-10-24T12:00:00Z", "Europe/Berlin"), "2026-10-25T00:30:00Z");
  EXPECT_EQ(next("30 2 * * *", "2026-10-25T00:30:00Z", "Europe/Berlin"), "2026-10-26T01:30:00Z");
  EXPECT_EQ(next("*/30 * * * *", "2026-10-25T00:30:00Z", "Europe/Berlin"), "2026-10-25T01:00:00Z");
  EXPECT_EQ(next("*/30 * * * *", "2026-03-29T00:30:00Z", "Europe/Berlin"), "2026-03-29T01:00:00Z");
}

TEST(Cron, AnHourWithAStepNamesHours) {
  // Havana has midnight twice on 2027-11-07 and leaves it out on 2027-03-14.
  EXPECT_EQ(next("0 */12 * * *", "2027-11-06T20:00:00Z", "America/Havana"), "2027-11-07T04:00:00Z");
  EXPECT_EQ(next("0 */12 * * *", "2027-11-07T04:00:00Z", "America/Havana"), "2027-11-07T17:00:00Z");
  EXPECT_EQ(next("0 */12 * * *", "2027-03-13T20:00:00Z", "America/Havana"), "2027-03-14T05:00:00Z");
  EXPECT_EQ(next("0 */12 * * *", "2027-03-14T05:00:00Z", "America/Havana"), "2027-03-14T16:00:00Z");
  EXPECT_EQ(next("0 */2 * * *", "2027-10-31T00:00:00Z", "Europe/Berlin"), "2027-10-31T03:00:00Z");
  EXPECT_EQ(next("0 */2 * * *", "2027-03-28T00:00:00Z", "Europe/Berlin"), "2027-03-28T01:00:00Z");
  EXPECT_EQ(next("0 */6 * * *", "2027-09-05T00:00:00Z", "America/Santiago"), "2027-09-05T04:00:00Z");
  EXPECT_EQ(next("0 */6 * * *", "2027-09-05T04:00:00Z", "America/Santiago"), "2027-09-05T09:00:00Z");
  EXPECT_EQ(next("0 0-23/2 * * *", "2027-10-31T00:00:00Z", "Europe/Berlin"), "2027-10-31T03:00:00Z");
  EXPECT_EQ(next("0 * * * *", "2027-10-31T00:00:00Z", "Europe/Berlin"), "2027-10-31T01:00:00Z");
}

TEST(Cron, LooksFarEnoughForEveryDayThatThereIs) {
  EXPECT_EQ(next("0 0 29 2 */7", "2026-11-21T00:00:00Z"), "2032-02-29T00:00:00Z");
  EXPECT_EQ(next("0 0 29 2 */7", "2032-02-29T00:00:00Z"), "2060-02-29T00:00:00Z");
  EXPECT_EQ(next("0 0 29 2 */7", "2088-02-29T00:00:00Z", "Europe/Berlin"), "2128-02-28T23:00:00Z");
  EXPECT_EQ(next("0 0 30 2 *", "2026-11-21T00:00:00Z", "Europe/Berlin"), "never");
}

TEST(Cron, WhatIsRefusedSaysWhy) {
  for (const auto* text : {"", "* * * *", "* * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *",
                           "* * * * 8", "5-1 * * * *", "*/0 * * * *", "5/2 * * * *", "a * * * *", ", * * * *",
                           "* * * * monday", "1,,2 * * * *", "-1 * * * *", "*/99 * * * *", "@reboot"}) {
    const auto parsed = CronExpression::parse(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_TRUE(parsed.error().message.starts_with("cron: ")) << parsed.error().message;
  }
  EXPECT_TRUE(TimeZone::find("Mars/Olympus").error().message.find("Mars/Olympus") != std::string::npos);
}

// Walks the minutes, with an independent reading of the generated fields.
TEST(Cron, AgreesWithWalkingTheMinutes) {
  const auto random = make_seeded_random(11);
  const auto* berlin = date::locate_zone("Europe/Berlin");
  for (int round = 0; round < 300; ++round) {
    const auto minute_step = 1 + static_cast<int>(random->below(59));
    const auto dow = static_cast<unsigned>(random->below(7));
    const auto month = 1 + static_cast<unsigned>(random->below(12));
    const auto text = "*/" + std::to_string(minute_step) + " * * " + std::to_string(month) + " " + std::to_string(dow);
    const auto cron = CronExpression::parse(text);
    ASSERT_TRUE(cron);
    // Within the month itself, so that the walk is short.
    const auto day = 1 + static_cast<unsigned>(random->below(20));
    const Time after = date::sys_days(date::year(2026) / static_cast<int>(month) / static_cast<int>(day)) +
                       std::chrono::minutes(random->below(1440));
    auto walked = std::chrono::floor<std::chrono::minutes>(after) + std::chrono::minutes(1);
    while (true) {
      const auto local = berlin->to_local(walked);
      const auto midnight = date::floor<date::days>(local);
      const date::year_month_day date(midnight);
      const auto minute = std::chrono::duration_cast<std::chrono::minutes>(local - midnight).count() % 60;
      if (date.month() == date::month(month) && date::weekday(midnight) == date::weekday(dow) &&
          minute % minute_step == 0) {
        break;
      }
      walked += std::chrono::minutes(1);
    }
    EXPECT_EQ(cron->next(after, *TimeZone::find("Europe/Berlin")), Time(walked)) << text;
  }
}

}  // namespace
}  // namespace tidemark::jobs
