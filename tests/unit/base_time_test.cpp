#include <gtest/gtest.h>

#include "common/base/time.h"
#include "tests/support/seeded_random.h"

namespace tidemark {
namespace {

TEST(Iso8601, TrimsTheFractionAsTheServiceDoes) {
  EXPECT_EQ(to_iso8601(*parse_iso8601("2020-01-01T01:02:00.0000000Z")), "2020-01-01T01:02:00Z");
  EXPECT_EQ(to_iso8601(*parse_iso8601("2020-08-20T22:20:48.4767Z")), "2020-08-20T22:20:48.4767Z");
  EXPECT_EQ(to_iso8601(*parse_iso8601("2021-09-21T01:04:37.9678478Z")), "2021-09-21T01:04:37.9678478Z");
  EXPECT_EQ(to_iso8601_7digits(*parse_iso8601("2021-06-08T02:05:09Z")), "2021-06-08T02:05:09.0000000Z");
}

TEST(Iso8601, ReadsShortFormsAndOffsets) {
  EXPECT_EQ(parse_iso8601("2024-02-03"), parse_iso8601("2024-02-03T00:00:00Z"));
  EXPECT_EQ(parse_iso8601("2024-02-03T04:05Z"), parse_iso8601("2024-02-03T04:05:00Z"));
  EXPECT_EQ(parse_iso8601("2024-02-03T04:05:06+02:00"), parse_iso8601("2024-02-03T02:05:06Z"));
  EXPECT_EQ(parse_iso8601("2024-02-03T04:05:06"), parse_iso8601("2024-02-03T04:05:06Z"));
}

TEST(Iso8601, RefusesWhatIsNoTime) {
  for (const auto* text : {"", "2024", "2024-13-01", "2024-02-30", "2024-02-03T25:00Z", "2024-02-03T04:05:06.Z",
                           "2024-02-03T04:05:06.123456789x", "2024-02-03T04:05:06.12345678.Z", "2024-02-03T04:05:06Zx",
                           "2024-02-03 04:05:06Z", "0000-01-01"}) {
    EXPECT_FALSE(parse_iso8601(text)) << text;
  }
}

TEST(Iso8601, RoundsFinerFractionsToATick) {
  const std::pair<const char*, const char*> cases[] = {
      {"2024-02-03T04:05:06.123456749Z", "2024-02-03T04:05:06.1234567Z"},
      {"2024-02-03T04:05:06.123456789Z", "2024-02-03T04:05:06.1234568Z"},
      {"2024-02-03T04:05:06.12345675Z", "2024-02-03T04:05:06.1234568Z"},
      {"2024-02-03T04:05:06.12345665Z", "2024-02-03T04:05:06.1234566Z"},
      {"2024-02-03T04:05:06.123456650Z", "2024-02-03T04:05:06.1234566Z"},
      {"2024-02-03T04:05:06.1234566500001Z", "2024-02-03T04:05:06.1234567Z"},
      {"2024-02-03T04:05:06.000000000000Z", "2024-02-03T04:05:06Z"},
      {"2024-02-29T23:59:59.999999999Z", "2024-03-01T00:00:00Z"},
      {"2024-02-03T04:05:06.123456789+02:00", "2024-02-03T02:05:06.1234568Z"},
      {"9999-12-31T23:59:59.99999994Z", "9999-12-31T23:59:59.9999999Z"},
  };
  for (const auto& [text, expected] : cases) {
    const auto time = parse_iso8601(text);
    ASSERT_TRUE(time) << text;
    EXPECT_EQ(to_iso8601(*time), expected) << text;
  }
  EXPECT_TRUE(parse_iso8601("2024-02-03T04:05:06." + std::string(100'000, '3') + "Z"));
}

TEST(Iso8601, RefusesWhatLeavesTheCalendar) {
  for (const auto* text : {"9999-12-31T23:59:59.99999995Z", "9999-12-31T23:59:59-01:00", "0001-01-01T00:59:59+01:00"}) {
    EXPECT_FALSE(parse_iso8601(text)) << text;
  }
  EXPECT_TRUE(parse_iso8601("0001-01-01T01:00:00+01:00"));
}

TEST(Iso8601, AnyTickSurvivesARoundTrip) {
  auto random = make_seeded_random(7);
  constexpr std::int64_t kFirst = -621'355'968'000'000'000;  // year 1
  constexpr std::uint64_t kTicks = 3'155'378'976'000'000'000;
  for (int i = 0; i < 20'000; ++i) {
    const Time time{Ticks(kFirst + static_cast<std::int64_t>(random->below(kTicks)))};
    ASSERT_EQ(parse_iso8601(to_iso8601(time)), time);
    ASSERT_EQ(parse_iso8601(to_iso8601_7digits(time)), time);
    const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
    ASSERT_EQ(parse_rfc1123(to_rfc1123(time)), Time(seconds));
  }
}

TEST(Rfc1123, HasTheFormThatClientsParseStrictly) {
  EXPECT_EQ(to_rfc1123(*parse_iso8601("2026-11-21T11:35:19.9Z")), "Sat, 21 Nov 2026 11:35:19 GMT");
  EXPECT_FALSE(parse_rfc1123("Sat, 21 Nov 2026 11:35:19 UTC"));
  EXPECT_FALSE(parse_rfc1123("Sat, 31 Feb 2026 11:35:19 GMT"));
}

}  // namespace
}  // namespace tidemark
