// Schedules with real stores behind them and a clock of the test's own: any number of workers, faults at any call,
// users who change things meanwhile.
#include <set>

#include "tests/support/standing_clock.h"
#include "tests/unit/workers_fixture.h"
#include "workers/upkeep/scheduler.h"

namespace tidemark::workers {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

class WorkersSchedule : public WorkersFixture {
 protected:
  void set(const std::string& name, const std::string& rest = "", const std::string& source = "Source") {
    const auto spec = jobs::parse_schedule(R"({"cron":"0 * * * *","job":{"kind":"delete","source":")" + source +
                                           R"(","filter":"Left lt datetime'{now-60d}'"})" + rest + "}");
    ASSERT_TRUE(spec) << spec.error().message;
    const auto stored = run(schedules_.put(name, *spec, {}));
    ASSERT_TRUE(stored) << stored.error().message;
  }
  Scheduler worker(const std::string& name) { return {{name, seconds(30)}, schedule_jobs_, tables_, manual_}; }
  std::optional<Time> look(Scheduler& scheduler) {
    const auto next = run(scheduler.look());
    EXPECT_TRUE(next) << next.error().message;
    return next ? *next : std::nullopt;
  }
  std::vector<jobs::JobRecord> jobs_of(const std::string& name) {
    const auto page = run(jobs_.list(1000, ""));
    std::vector<jobs::JobRecord> out;
    for (const auto& job : page->jobs) {
      if (job.spec.find("schedule:" + name + ":") != std::string::npos) out.push_back(job);
    }
    return out;
  }
  jobs::Schedule schedule(const std::string& name) { return **run(schedules_.find(name)); }
  /// Works until the queue is empty.
  void work_all() {
    while (messages("tidemark-jobs") > 0) work_next();
  }

  StandingClock manual_{*parse_iso8601("2026-11-21T00:30:00Z")};
  jobs::JobStore schedule_jobs_{tables_, queues_, manual_, *random_};
  jobs::ScheduleStore schedules_{tables_, manual_};
};

TEST_F(WorkersSchedule, IsRunForATimeThatCanBeToldAndAnswersOnceTheJobIsThere) {
  set("nightly");
  for (const auto due : {*parse_iso8601("1500-01-01"), *parse_iso8601("9999-12-31") + hours(24)}) {
    const auto refused = run(schedules_.run(schedule_jobs_, "nightly", due));
    EXPECT_TRUE(refused.failed_with(ErrorCode::kInvalidInput)) << to_iso8601(due);
  }
  EXPECT_EQ(messages("tidemark-jobs"), 0U);
  // Its record is the last write that succeeds.
  table_link_.before = [written = std::make_shared<int>(0)](std::string method) -> Task<Result<void>> {
    if (method == "table.mutate" && ++*written > 2) co_return fail(ErrorCode::kUnavailable);
    co_return Result<void>{};
  };
  const auto job = run(schedules_.run(schedule_jobs_, "nightly", manual_.time));
  table_link_.before = nullptr;
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_TRUE(run(jobs_.find(job->job.id))->has_value());
  EXPECT_EQ(schedule("nightly").state.runs, 0U) << "that it could not be noted is what this is about";
}

TEST_F(WorkersSchedule, AProblemOfAnyLengthCanBeNoted) {
  set("nightly");
  auto changed = schedule("nightly");
  changed.state.last_problem = std::string(1999, 'x') + "\xC3\xA9";
  EXPECT_TRUE(run(schedules_.swap(changed)).value_or(false));
}

TEST_F(WorkersSchedule, ALongJobIsSubmittedAndRuns) {
  const auto spec = jobs::parse_schedule(
      R"({"cron":"0 * * * *","job":{"kind":"merge","source":"Source","filter":"","set":{"Text":")" +
      std::string(29'900, 'x') + "\"}}}");
  ASSERT_TRUE(spec) << spec.error().message;
  ASSERT_TRUE(run(schedules_.put("long", *spec, {})));
  manual_.time = *parse_iso8601("2026-11-21T01:00:00Z");
  auto one = worker("one");
  look(one);
  EXPECT_EQ(schedule("long").state.last_problem, "");
  EXPECT_EQ(jobs_of("long").size(), 1U);
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
}

TEST_F(WorkersSchedule, SubmitsWhenDueAndOnlyThen) {
  set("nightly");
  auto one = worker("one");
  EXPECT_EQ(look(one), *parse_iso8601("2026-11-21T01:00:00Z"));
  EXPECT_TRUE(jobs_of("nightly").empty());
  manual_.time = *parse_iso8601("2026-11-21T01:00:00.2Z");
  EXPECT_EQ(look(one), *parse_iso8601("2026-11-21T02:00:00Z"));
  const auto jobs = jobs_of("nightly");
  ASSERT_EQ(jobs.size(), 1U);
  EXPECT_NE(jobs[0].spec.find("datetime'2026-09-22T01:00:00Z'"), std::string::npos) << jobs[0].spec;
  const auto state = schedule("nightly").state;
  EXPECT_EQ(state.last_job, jobs[0].id);
  EXPECT_EQ(state.last_due, *parse_iso8601("2026-11-21T01:00:00Z"));
  EXPECT_EQ(state.runs, 1U);
  EXPECT_FALSE(state.pending);
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
}

TEST_F(WorkersSchedule, AnIdleLookReadsOneRow) {
  set("nightly");
  auto one = worker("one");
  look(one);
  int calls = 0;
  table_link_.before = [&](std::string) -> Task<Result<void>> {
    ++calls;
    co_return Result<void>{};
  };
  manual_.time += seconds(2);
  look(one);
  EXPECT_EQ(calls, 1);
  // A change is noticed at the next look.
  table_link_.before = nullptr;
  set("other", R"(,"startAfter":"2026-11-21T05:30:00Z")");
  ASSERT_TRUE(run(schedules_.set_paused("nightly", true)).has_value());
  EXPECT_EQ(look(one), *parse_iso8601("2026-11-21T06:00:00Z"));
}

TEST_F(WorkersSchedule, TwoWorkersAtEveryPointOfEachOther) {
  int reached = 0;
  for (int at = 1; reached == at - 1; ++at) {
    const auto name = "s" + std::to_string(at);
    set(name, R"(,"overlap":"allow")");
    manual_.time += hours(1);
    auto one = worker("one"), two = worker("two");
    int call = 0;
    table_link_.before = [&](std::string) -> Task<Result<void>> {
      if (++call != at) co_return Result<void>{};
      reached = at;
      const auto looked = co_await two.look();
      EXPECT_TRUE(looked.has_value());
      co_return Result<void>{};
    };
    look(one);
    table_link_.before = nullptr;
    const auto jobs = jobs_of(name);
    ASSERT_EQ(jobs.size(), 1U) << "the other at call " << at;
    EXPECT_EQ(schedule(name).state.runs, 1U);
    EXPECT_EQ(schedule(name).state.last_job, jobs[0].id);
    work_all();
    EXPECT_EQ(record(jobs[0].id).attempts, 1U);
    ASSERT_TRUE(run(schedules_.remove(name, {})).has_value());
  }
  EXPECT_GE(reached, 6);
}

TEST_F(WorkersSchedule, AFaultAtAnyCallOfEitherStore) {
  for (auto* link : {&table_link_, &queue_link_}) {
    bool over = false;
    for (int at = 1; !over; ++at) {
      ASSERT_LT(at, 50);
      const auto name = "s" + std::to_string(at) + (link == &table_link_ ? "t" : "q");
      set(name, R"(,"overlap":"allow")");
      manual_.time += hours(1);
      int call = 0;
      link->before = [&](std::string) -> Task<Result<void>> {
        if (++call == at) co_return fail(ErrorCode::kUnavailable);
        co_return Result<void>{};
      };
      auto dying = worker("dying");
      over = run(dying.look()).has_value();
      link->before = nullptr;
      manual_.time += seconds(31);
      auto next = worker("next");
      look(next);
      const auto jobs = jobs_of(name);
      ASSERT_EQ(jobs.size(), 1U) << "fault at call " << at;
      EXPECT_EQ(schedule(name).state.runs, 1U);
      EXPECT_FALSE(schedule(name).state.pending);
      work_all();
      EXPECT_EQ(record(jobs[0].id).state, jobs::JobState::kSucceeded);
      EXPECT_EQ(record(jobs[0].id).attempts, 1U);
      ASSERT_TRUE(run(schedules_.remove(name, {})).has_value());
    }
  }
}

TEST_F(WorkersSchedule, CatchesUpOneAfterTheOther) {
  set("all", R"(,"startAfter":"2026-11-20T20:10:00Z","catchUp":"all","overlap":"wait")");
  auto one = worker("one");
  for (int i = 1; i <= 4; ++i) {
    look(one);
    ASSERT_EQ(jobs_of("all").size(), static_cast<std::size_t>(i));
    manual_.time += seconds(2);
    look(one);  // the job before has not ended
    ASSERT_EQ(jobs_of("all").size(), static_cast<std::size_t>(i));
    work_all();
    manual_.time += seconds(2);
  }
  EXPECT_EQ(look(one), *parse_iso8601("2026-11-21T01:00:00Z"));
  std::set<std::string> keys;
  for (const auto& job : jobs_of("all")) keys.insert(jobs::parse_job_spec(job.spec)->idempotency_key);
  EXPECT_EQ(keys, (std::set<std::string>{"schedule:all:2026-11-20T21:00:00Z", "schedule:all:2026-11-20T22:00:00Z",
                                         "schedule:all:2026-11-20T23:00:00Z", "schedule:all:2026-11-21T00:00:00Z"}));
}

TEST_F(WorkersSchedule, OverlapSkipsOrCancels) {
  set("skip");
  set("cancel", R"(,"overlap":"cancel")");
  auto one = worker("one");
  manual_.time += hours(1);
  look(one);
  manual_.time += hours(1);
  look(one);
  EXPECT_EQ(jobs_of("skip").size(), 1U);
  EXPECT_EQ(schedule("skip").state.skipped, 1U);
  const auto cancelled = jobs_of("cancel");  // newest first
  ASSERT_EQ(cancelled.size(), 2U);
  EXPECT_EQ(cancelled[0].state, jobs::JobState::kQueued);
  EXPECT_EQ(cancelled[1].state, jobs::JobState::kCancelled);
}

TEST_F(WorkersSchedule, WhatAPersonDoesMeanwhileWins) {
  set("paused");
  manual_.time += hours(1);
  auto one = worker("one");
  bool done = false;
  table_link_.before = [&](std::string method) -> Task<Result<void>> {
    if (done || method != "table.mutate") co_return Result<void>{};
    done = true;  // the row was read and is about to be claimed
    const auto paused = co_await schedules_.set_paused("paused", true);
    EXPECT_TRUE(paused.has_value());
    co_return Result<void>{};
  };
  look(one);
  table_link_.before = nullptr;
  EXPECT_TRUE(done);
  EXPECT_TRUE(jobs_of("paused").empty());
  // Times that were due during the pause are not caught up.
  manual_.time += hours(3);
  ASSERT_TRUE(run(schedules_.set_paused("paused", false)).has_value());
  EXPECT_EQ(look(one), *parse_iso8601("2026-11-21T05:00:00Z"));
  EXPECT_TRUE(jobs_of("paused").empty());
}

TEST_F(WorkersSchedule, AnotherTimetableBeginsAnewAnotherJobDoesNot) {
  set("s");
  manual_.time += minutes(50);  // 01:20, and nobody has looked
  set("s", "", "Other");        // another job: 01:00 still is to come
  EXPECT_EQ(run(schedules_.find("s"))->value().state.decided, *parse_iso8601("2026-11-21T00:30:00Z"));
  auto one = worker("one");
  look(one);
  ASSERT_EQ(jobs_of("s").size(), 1U);
  EXPECT_NE(jobs_of("s")[0].spec.find("Other"), std::string::npos);
  manual_.time += hours(2);
  set("s", R"(,"timeZone":"Asia/Tokyo")");
  EXPECT_EQ(look(one), *parse_iso8601("2026-11-21T04:00:00Z"));
  EXPECT_EQ(jobs_of("s").size(), 1U);
}

TEST_F(WorkersSchedule, ConditionsOfAPut) {
  set("s");
  const auto spec = schedule("s").spec;
  const auto etag = etag_of(schedule("s"));
  EXPECT_TRUE(run(schedules_.put("s", spec, {"", true})).failed_with(ErrorCode::kUpdateConditionNotSatisfied));
  EXPECT_TRUE(run(schedules_.put("s", spec, {"\"other\""})).failed_with(ErrorCode::kUpdateConditionNotSatisfied));
  EXPECT_TRUE(run(schedules_.put("new", spec, {"*"})).failed_with(ErrorCode::kUpdateConditionNotSatisfied));
  // A run does not change the tag, a user does.
  manual_.time += hours(1);
  auto one = worker("one");
  look(one);
  EXPECT_EQ(etag_of(schedule("s")), etag);
  EXPECT_TRUE(run(schedules_.put("s", spec, {etag})).has_value());
  ASSERT_TRUE(run(schedules_.set_paused("s", true)).has_value());
  EXPECT_TRUE(run(schedules_.remove("s", {etag})).failed_with(ErrorCode::kUpdateConditionNotSatisfied));
  EXPECT_TRUE(run(schedules_.remove("s", {etag_of(schedule("s"))})).has_value());
  EXPECT_TRUE(run(schedules_.remove("s", {})).failed_with(ErrorCode::kScheduleNotFound));
}

TEST_F(WorkersSchedule, RunNowIsIdempotentByItsTime) {
  set("s");
  const auto due = *parse_iso8601("2026-11-21T01:00:00Z");
  const auto first = run(schedules_.run(schedule_jobs_, "s", due));
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_TRUE(first->created);
  const auto again = run(schedules_.run(schedule_jobs_, "s", due));
  EXPECT_FALSE(again->created);
  EXPECT_EQ(again->job.id, first->job.id);
  // When that time comes, it has its job already.
  work_all();
  manual_.time += hours(1);
  auto one = worker("one");
  look(one);
  EXPECT_EQ(jobs_of("s").size(), 1U);
  EXPECT_EQ(schedule("s").state.last_job, first->job.id);
  EXPECT_TRUE(run(schedules_.run(schedule_jobs_, "none", due)).failed_with(ErrorCode::kScheduleNotFound));
}

TEST_F(WorkersSchedule, ATimeThatAnEarlierScheduleRanIsToldNotRepeated) {
  set("s");
  manual_.time += hours(1);
  auto one = worker("one");
  look(one);
  ASSERT_TRUE(run(schedules_.remove("s", {})).has_value());
  set("s", R"(,"startAfter":"2026-11-21T00:30:00Z")", "Other");
  look(one);
  EXPECT_EQ(jobs_of("s").size(), 1U);
  const auto state = schedule("s").state;
  EXPECT_EQ(state.runs, 0U);
  EXPECT_FALSE(state.last_problem.empty());
  EXPECT_FALSE(state.pending);
  EXPECT_EQ(look(one), *parse_iso8601("2026-11-21T02:00:00Z"));
}

}  // namespace
}  // namespace tidemark::workers
