// Schedules without I/O: refusals, moments in filters, and the planner over a clock that a test moves freely.
#include <date/tz.h>
#include <gtest/gtest.h>

#include <set>

#include "jobs/schedules/schedule_plan.h"
#include "jobs/spec/time_template.h"
#include "tests/support/seeded_random.h"

namespace tidemark::jobs {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

Time time_of(std::string_view text) { return *parse_iso8601(text); }

std::string fill(std::string_view text, std::string_view due = "2026-11-21T10:30:15Z", const char* zone = "UTC") {
  const auto filled = fill_time_template(text, time_of(due), *TimeZone::find(zone));
  return filled ? *filled : "refused";
}

TEST(TimeTemplate, FillsMomentsIn) {
  EXPECT_EQ(fill("LeftDate lt datetime'{now-60d}'"), "LeftDate lt datetime'2026-09-22T10:30:15Z'");
  EXPECT_EQ(fill("{now} {now-12h} {now+90m} {now-1w} {now-15s}"),
            "2026-11-21T10:30:15Z 2026-11-20T22:30:15Z 2026-11-21T12:00:15Z 2026-11-14T10:30:15Z "
            "2026-11-21T10:30:00Z");
  EXPECT_EQ(fill("{today} {today-1d}"), "2026-11-21T00:00:00Z 2026-11-20T00:00:00Z");
  EXPECT_EQ(fill("{today}", "2026-11-21T23:30:00Z", "Europe/Berlin"), "2026-11-21T23:00:00Z");
  // The day with 25 hours lies between: days are those of the calendar, not 24 hours.
  EXPECT_EQ(fill("{today-1d} {today}", "2026-10-26T12:00:00Z", "Europe/Berlin"),
            "2026-10-24T22:00:00Z 2026-10-25T23:00:00Z");
  EXPECT_EQ(fill("Name eq '{{now}}'"), "Name eq '{now}'");
  EXPECT_EQ(fill("Log{today-1d:yyyyMMdd} {now:HHmmss} {now+1w:yyyy-MM_dd}"), "Log20261120 103015 2026-11_28");
  // In the schedule's time zone: the last midnight in Berlin was the 21st in UTC.
  EXPECT_EQ(fill("{today:yyyyMMddHH} {now:yyyyMMddHHmm}", "2026-11-21T23:30:00Z", "Europe/Berlin"),
            "2026112200 202611220030");
  for (const auto* bad : {"{", "}", "{now", "{}", "{tomorrow}", "{now-}", "{now-d}", "{now-5y}", "{now--5d}",
                          "{now 5d}", "{today-5h}", "{now-99999999d}", "{nowhere}", "{today:}", "{today:yy}",
                          "{today:yyyyMMDD}", "{today:d d}", "{:yyyy}", "{today:yyyy:MM}"}) {
    EXPECT_EQ(fill(bad), "refused") << bad;
  }
}

std::vector<std::string> problems(const char* text) {
  const auto parsed = parse_schedule(text);
  std::vector<std::string> out;
  if (parsed) return out;
  EXPECT_EQ(parsed.error().code, ErrorCode::kScheduleInvalid);
  for (const auto& [name, value] : parsed.error().fields) out.push_back(value);
  return out;
}

TEST(Schedule, EveryProblemIsListed) {
  const auto found = problems(
      R"({"cron":"61 * * * *","timeZone":"Mars/Base","catchUp":"some","overlap":"maybe","maxLateSeconds":0,
          "startAfter":"soon","colour":1,
          "job":{"kind":"archive","source":"1","destination":"Former","filter":"Left lt datetime'{now-60d}'",
                 "idempotencyKey":"k","notBefore":"2026-01-01T00:00:00Z","maxAttempts":0}})");
  EXPECT_EQ(found.size(), 11U) << testing::PrintToString(found);
  EXPECT_EQ(problems(R"({})").size(), 2U);
  EXPECT_EQ(problems("[]").size(), 1U);
  EXPECT_EQ(
      problems(R"({"cron":"@daily","job":{"kind":"delete","source":"Abc","filter":"A lt datetime'{yesterday}'"}})")
          .size(),
      1U);
  EXPECT_EQ(problems(R"({"cron":"@daily","catchUp":"all","job":{"kind":"delete","source":"Abc","filter":""}})").size(),
            1U);
  EXPECT_TRUE(problems(R"({"cron":"@daily","job":{"kind":"redrive","movedBefore":"{now-1d}"}})").empty());
}

TEST(Schedule, IsDueSomeTime) {
  const auto declared = [](const std::string& cron, const std::string& start_after = "", bool stored = false) {
    const auto text = R"({"cron":")" + cron + R"(","job":{"kind":"delete","source":"Abc","filter":""})" +
                      (start_after.empty() ? "" : R"(,"startAfter":")" + start_after + '"') + "}";
    const auto spec = parse_schedule(text, stored ? std::nullopt : std::optional(time_of("2026-11-21T10:30:15Z")));
    return spec ? std::string() : spec.error().fields.front().second;
  };
  EXPECT_EQ(declared("0 0 30 2 *"), "cron: no date matches it");
  EXPECT_EQ(declared("0 0 31 4,6 *"), "cron: no date matches it");
  EXPECT_EQ(declared("0 0 30 2 *", "", true), "") << "one that is there stays";
  EXPECT_EQ(declared("0 0 29 2 *"), "");
  EXPECT_EQ(declared("0 0 29 2 *", "2096-02-29T00:00:00Z"), "");
  EXPECT_EQ(declared("0 0 1 1 *", "9999-11-30T00:00:00Z"), "cron: no time after startAfter matches it");
  EXPECT_EQ(declared("0 0 31 12 *", "9999-11-30T00:00:00Z"), "");
}

TEST(Schedule, ItsTextReadsBackAndTheJobHasItsDueTimeAsKey) {
  const auto spec = parse_schedule(
      R"({"cron":"0 3 * * *","timeZone":"Europe/Berlin","catchUp":"all","overlap":"wait","maxLateSeconds":90,
          "startAfter":"2026-01-31T22:00:00Z",
          "job":{"kind":"archive","source":"Abc","destination":"Former","filter":"Left lt datetime'{now-60d}'"}})");
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(parse_schedule(canonical_text(*spec)), *spec);
  const auto job = job_of(*spec, "nightly", time_of("2026-11-21T02:00:00Z"));
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(std::get<ArchiveSpec>(job->work).filter, "Left lt datetime'2026-09-22T02:00:00Z'");
  EXPECT_EQ(job->idempotency_key, "schedule:nightly:2026-11-21T02:00:00Z");
}

TEST(Schedule, TablesMayBeNamedByMoments) {
  const auto spec = parse_schedule(
      R"({"cron":"30 0 * * *","timeZone":"Europe/Berlin",
          "job":{"kind":"archive","source":"Log{today-1d:yyyyMMdd}","destination":"Logs{today-1d:yyyyMM}","filter":"",
                 "then":{"kind":"delete","source":"Log{today-1d:yyyyMMdd}","wholeTable":true}}})");
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(parse_schedule(canonical_text(*spec)), *spec);
  // It is the first of December in Berlin, and not yet in UTC.
  const auto job = job_of(*spec, "logs", time_of("2026-11-30T23:30:00Z"));
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(std::get<ArchiveSpec>(job->work).source, "Log20261130");
  EXPECT_EQ(std::get<ArchiveSpec>(job->work).destination, "Logs202611");
  const auto next = parse_job_spec(job->then);
  ASSERT_TRUE(next) << next.error().message;
  EXPECT_EQ(std::get<DeleteSpec>(next->work).source, "Log20261130");
  for (const auto* bad :
       {R"({"cron":"@daily","job":{"kind":"delete","source":"Log{today}","wholeTable":true}})",
        R"({"cron":"@daily","job":{"kind":"delete","source":"Log{today:yyyy-MM}","wholeTable":true}})",
        R"({"cron":"@daily","job":{"kind":"delete","source":"{today:yyyyMM}","wholeTable":true}})",
        R"({"cron":"@daily","job":{"kind":"delete","source":"Log","filter":"",
            "then":{"kind":"delete","source":"Log{tomorrow}","wholeTable":true}}})"}) {
    EXPECT_EQ(problems(bad).size(), 1U) << bad;
  }
}

TEST(Schedule, ADeclarationIsCheckedWithTheNamesOfNow) {
  const auto* text = R"({"cron":"@daily","job":{"kind":"archive","source":"Log{today:yyyyMM}",
                         "destination":"Log{today-1d:yyyyMM}","filter":""}})";
  // One table on most days; two on the first of a month.
  EXPECT_FALSE(parse_schedule(text, time_of("2026-11-21T10:00:00Z")));
  EXPECT_TRUE(parse_schedule(text, time_of("2026-11-01T10:00:00Z")));
  EXPECT_TRUE(parse_schedule(text));
}

TEST(Schedule, Names) {
  for (const auto* good : {"a", "nightly", "Retention-60d_v1.2"}) EXPECT_TRUE(is_schedule_name(good)) << good;
  for (const auto* bad : {"", "-a", ".a", "a/b", "a b", "\xC3\xA4"}) EXPECT_FALSE(is_schedule_name(bad)) << bad;
  EXPECT_FALSE(is_schedule_name(std::string(64, 'a')));
}

/// A schedule and the outcomes of its due times; acts on decisions as a worker does, with jobs that end on command.
struct Course {
  Course(const std::string& cron, const std::string& begin, const std::string& zone = "UTC") {
    schedule.spec.cron = cron;
    schedule.spec.time_zone = zone;
    schedule.spec.job = R"({"kind":"delete","source":"Abc","filter":""})";
    schedule.state.decided = time_of(begin);
  }

  /// Does everything until the schedule sleeps; returns the time of the next look.
  std::optional<Time> look(Time now) {
    const auto timetable = *Timetable::of(schedule.spec);
    for (int i = 0; i < 1000; ++i) {
      const auto decision = decide(timetable, schedule, now, seconds(30), job_runs);
      auto& state = schedule.state;
      state.missed += decision.missed;
      if (decision.step == ScheduleStep::kSleep) return decision.at;
      state.decided = *decision.at;
      if (decision.step == ScheduleStep::kSkip) ++state.skipped;
      if (decision.step == ScheduleStep::kRun) {
        ran.push_back(to_iso8601(*decision.at));
        state.last_job = "j";
        job_runs = jobs_last;
      }
    }
    ADD_FAILURE() << "it never sleeps";
    return std::nullopt;
  }
  std::optional<Time> look(std::string_view now) { return look(time_of(now)); }
  std::vector<std::string> take() { return std::exchange(ran, {}); }

  Schedule schedule;
  std::vector<std::string> ran;
  bool job_runs = false;
  bool jobs_last = false;  // a job that was started does not end by itself
};

using Times = std::vector<std::string>;

TEST(SchedulePlan, RunsAtItsTimesAndSleepsUntilTheNext) {
  Course course("0 3 * * *", "2026-11-20T12:00:00Z");
  EXPECT_EQ(course.look("2026-11-20T12:00:00Z"), time_of("2026-11-21T03:00:00Z"));
  EXPECT_EQ(course.look("2026-11-21T02:59:59.999Z"), time_of("2026-11-21T03:00:00Z"));
  EXPECT_TRUE(course.take().empty());
  EXPECT_EQ(course.look("2026-11-21T03:00:00Z"), time_of("2026-11-22T03:00:00Z"));
  EXPECT_EQ(course.take(), Times{"2026-11-21T03:00:00Z"});
  course.look("2026-11-21T03:00:01Z");
  EXPECT_TRUE(course.take().empty());
  Course never("0 0 30 2 *", "2026-11-20T12:00:00Z");
  EXPECT_EQ(never.look("2026-11-20T12:00:00Z"), std::nullopt);
}

TEST(SchedulePlan, ClockChangesNeitherLoseNorDouble) {
  for (const auto& [begin, wanted] :
       {std::pair<const char*, Times>{"2026-03-28T00:00:00Z",
                                      {"2026-03-28T01:30:00Z", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"}},
        std::pair<const char*, Times>{"2026-10-24T00:00:00Z",
                                      {"2026-10-24T00:30:00Z", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"}}}) {
    Course course("30 2 * * *", begin, "Europe/Berlin");
    for (auto now = time_of(begin); now < time_of(begin) + hours(72); now += minutes(1)) course.look(now);
    EXPECT_EQ(course.take(), wanted);
  }
}

TEST(SchedulePlan, CatchUp) {
  const auto caught_up = [](CatchUp rule, std::optional<Duration> max_late, std::string_view now) {
    Course course("0 * * * *", "2026-11-21T00:00:00Z");
    course.schedule.spec.catch_up = rule;
    course.schedule.spec.max_late = max_late;
    course.schedule.spec.overlap = Overlap::kAllow;
    course.look(now);
    return std::pair(course.take(), course.schedule.state.missed);
  };
  const auto now = "2026-11-21T03:10:00Z";
  EXPECT_EQ(caught_up(CatchUp::kNone, {}, now), std::pair(Times{}, std::uint64_t{3}));
  EXPECT_EQ(caught_up(CatchUp::kNone, {}, "2026-11-21T03:00:59Z"),
            std::pair(Times{"2026-11-21T03:00:00Z"}, std::uint64_t{2}));
  EXPECT_EQ(caught_up(CatchUp::kLast, {}, now), std::pair(Times{"2026-11-21T03:00:00Z"}, std::uint64_t{2}));
  EXPECT_EQ(caught_up(CatchUp::kLast, minutes(9), now), std::pair(Times{}, std::uint64_t{3}));
  EXPECT_EQ(caught_up(CatchUp::kAll, {}, now),
            std::pair(Times{"2026-11-21T01:00:00Z", "2026-11-21T02:00:00Z", "2026-11-21T03:00:00Z"}, std::uint64_t{0}));
  EXPECT_EQ(caught_up(CatchUp::kAll, minutes(70), now),
            std::pair(Times{"2026-11-21T02:00:00Z", "2026-11-21T03:00:00Z"}, std::uint64_t{1}));
  // The catch-up is bounded; the newest times remain.
  const auto many = caught_up(CatchUp::kAll, {}, "2026-11-30T00:00:00Z");
  EXPECT_EQ(many.first.size(), kMostCaughtUp);
  EXPECT_EQ(many.first.back(), "2026-11-30T00:00:00Z");
  EXPECT_EQ(many.second, 9U * 24 - kMostCaughtUp);
}

TEST(SchedulePlan, YearsOfSleepCostNoYears) {
  Course course("* * * * *", "2016-01-01T00:00:00Z");
  course.look("2026-11-21T10:00:30Z");
  EXPECT_EQ(course.take(), Times{"2026-11-21T10:00:00Z"});
  Course leap("0 0 29 2 *", "2023-01-01T00:00:00Z");
  leap.look("2026-11-21T10:00:00Z");
  EXPECT_EQ(leap.take(), Times{"2024-02-29T00:00:00Z"});
}

TEST(SchedulePlan, Overlap) {
  const auto begin = "2026-11-21T00:00:00Z";
  Course skip("0 * * * *", begin);
  skip.jobs_last = true;
  skip.look("2026-11-21T01:00:00Z");
  skip.look("2026-11-21T02:00:00Z");
  skip.job_runs = false;
  skip.look("2026-11-21T02:30:00Z");
  skip.look("2026-11-21T03:00:00Z");
  EXPECT_EQ(skip.take(), (Times{"2026-11-21T01:00:00Z", "2026-11-21T03:00:00Z"}));
  EXPECT_EQ(skip.schedule.state.skipped, 1U);

  Course wait("0 * * * *", begin);
  wait.schedule.spec.overlap = Overlap::kWait;
  wait.schedule.spec.catch_up = CatchUp::kAll;
  wait.jobs_last = true;
  wait.look("2026-11-21T01:00:00Z");
  EXPECT_EQ(wait.look("2026-11-21T03:00:00Z"), time_of("2026-11-21T03:00:02Z"));
  wait.job_runs = false;
  wait.look("2026-11-21T03:10:00Z");  // one job, which is running now
  EXPECT_EQ(wait.take(), (Times{"2026-11-21T01:00:00Z", "2026-11-21T02:00:00Z"}));
  wait.job_runs = wait.jobs_last = false;
  wait.look("2026-11-21T03:20:00Z");
  EXPECT_EQ(wait.take(), Times{"2026-11-21T03:00:00Z"});

  for (const auto overlap : {Overlap::kAllow, Overlap::kCancel}) {
    Course all("0 * * * *", begin);
    all.schedule.spec.overlap = overlap;
    all.jobs_last = true;
    all.look("2026-11-21T01:00:00Z");
    all.look("2026-11-21T02:00:00Z");
    EXPECT_EQ(all.take().size(), 2U);
  }
}

TEST(SchedulePlan, ClockJumps) {
  Course course("0 * * * *", "2026-11-21T00:00:00Z");
  course.look("2026-11-21T01:00:00Z");
  // Back: settled times stay settled.
  EXPECT_EQ(course.look("2026-11-21T00:10:00Z"), time_of("2026-11-21T02:00:00Z"));
  course.look("2026-11-21T01:00:00Z");
  EXPECT_EQ(course.take(), Times{"2026-11-21T01:00:00Z"});
  // Forward: the catch-up rule.
  course.look("2026-11-21T05:30:00Z");
  EXPECT_EQ(course.take(), Times{"2026-11-21T05:00:00Z"});
  // A clock that was wrong by a year and is put right: the schedule does not sleep for a year.
  course.look("2027-11-21T05:30:00Z");
  EXPECT_EQ(course.take(), Times{"2027-11-21T05:00:00Z"});
  EXPECT_EQ(course.look("2026-11-21T06:30:00Z"), time_of("2026-11-21T07:00:00Z"));
  course.look("2026-11-21T07:00:00Z");
  EXPECT_EQ(course.take(), Times{"2026-11-21T07:00:00Z"});
}

// However the clock moves within a day and at any times of looks, each time runs once, in order, and none is lost.
TEST(SchedulePlan, RandomLooksAndJumps) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const auto random = make_seeded_random(seed);
    const auto begin = time_of("2026-10-24T00:00:00Z") + minutes(random->below(600));
    Course course("*/20 * * * *", to_iso8601(begin), "Europe/Berlin");
    course.schedule.spec.catch_up = CatchUp::kAll;
    course.schedule.spec.overlap = Overlap::kAllow;
    auto now = begin, latest = begin;
    for (int i = 0; i < 60; ++i) {
      const auto jump = seconds(static_cast<std::int64_t>(random->below(7200))) - seconds(2400);
      now = std::max(now + jump, begin - hours(20));
      latest = std::max(latest, now);
      course.look(now);
    }
    Times wanted;
    const auto timetable = *Timetable::of(course.schedule.spec);
    for (auto due = timetable.next(begin); *due <= latest; due = timetable.next(*due)) {
      wanted.push_back(to_iso8601(*due));
    }
    EXPECT_EQ(course.take(), wanted) << "seed " << seed;
    EXPECT_EQ(course.schedule.state.missed, 0U);
  }
}

TEST(SchedulePlan, PausedAndNotYetBegun) {
  Course course("0 * * * *", "2026-11-21T00:00:00Z");
  course.schedule.state.paused = true;
  EXPECT_EQ(course.look("2026-11-21T05:00:00Z"), std::nullopt);
  course.schedule.state.paused = false;
  course.schedule.spec.start_after = time_of("2026-11-21T08:00:00Z");
  EXPECT_EQ(course.look("2026-11-21T05:00:00Z"), time_of("2026-11-21T09:00:00Z"));
  EXPECT_TRUE(course.take().empty());
}

TEST(SchedulePlan, AClaimIsLeftToItsWorkerForAWhile) {
  Course course("0 * * * *", "2026-11-21T00:00:00Z");
  const auto timetable = *Timetable::of(course.schedule.spec);
  auto& state = course.schedule.state;
  const auto due = time_of("2026-11-21T01:00:00Z");
  state.decided = due;
  state.pending = ScheduleState::Pending{due, "{}", due, "w1"};
  state.paused = true;  // a claimed time is carried out even so
  const auto step = [&](Time now) { return decide(timetable, course.schedule, now, seconds(30), false).step; };
  EXPECT_EQ(step(due + seconds(29)), ScheduleStep::kSleep);
  EXPECT_EQ(step(due + seconds(30)), ScheduleStep::kResume);
  EXPECT_EQ(step(due - seconds(29)), ScheduleStep::kSleep);
  EXPECT_EQ(step(due - hours(1)), ScheduleStep::kResume);  // the clock was put back
}

// Over zones that change by an hour and by half an hour, and one that left out a day.
TEST(Cron, EveryFullHourOfAYear) {
  for (const auto& [name, year] : {std::pair("Europe/Berlin", 2026), std::pair("Australia/Lord_Howe", 2026),
                                   std::pair("Pacific/Apia", 2011), std::pair("UTC", 2026)}) {
    const auto* zone = date::locate_zone(name);
    const auto cron = *CronExpression::parse("0 * * * *");
    const Time begin = date::sys_days(date::year(year) / 1 / 1), end = begin + hours(24 * 366);
    auto due = cron.next(begin, *TimeZone::find(name));
    for (auto walked = std::chrono::floor<minutes>(begin) + minutes(30); walked < end; walked += minutes(30)) {
      const auto local = zone->to_local(walked);
      if (local != date::floor<hours>(local)) continue;
      ASSERT_EQ(*due, Time(walked)) << name;
      due = cron.next(*due, *TimeZone::find(name));
    }
  }
}

}  // namespace
}  // namespace tidemark::jobs
