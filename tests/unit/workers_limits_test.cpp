// Limits of kinds, tables and partitions: their storage, and that jobs observe them.
#include "workers/runtime/limit_gate.h"
#include "workers_fixture.h"

namespace tidemark::workers {
namespace {

using std::chrono::seconds;

class WorkersLimits : public WorkersFixture {
 protected:
  void set(const jobs::LimitTarget& target, std::uint32_t max_running, std::uint32_t max_per_second) {
    auto done = run(limits_.set(target, {std::nullopt, max_running, max_per_second}));
    ASSERT_TRUE(done.has_value()) << done.error().message;
  }
  void pause(const std::string& kind, bool paused) {
    ASSERT_TRUE(run(limits_.set(jobs::kind_target(kind), {paused, std::nullopt, std::nullopt})).has_value());
  }
  std::unique_ptr<LimitGate> gate() {
    auto made = std::make_unique<LimitGate>(tables_, *clock_, seconds(30));
    finish_task(made->refresh());
    return made;
  }
  void finish_task(Task<void> task) {
    auto whole = [](Task<void> inner) -> Task<bool> {
      co_await std::move(inner);
      co_return true;
    };
    EXPECT_TRUE(run(whole(std::move(task))));
  }
  Time booked_until(const jobs::LimitTarget& target) {
    auto row = run(tables_.get(std::string(jobs::kJobTable), "rates", jobs::limit_key(target)));
    EXPECT_TRUE(row && *row);
    return row && *row ? std::get<Time>(*(*row)->find("BookedUntil")) : Time{};
  }
  queue_service::Message waiting() {
    auto page = run(queues_.list(std::string(jobs::kJobQueue), 10, ""));
    EXPECT_TRUE(page && page->messages.size() == 1U);
    return page && !page->messages.empty() ? page->messages[0] : queue_service::Message{};
  }
  jobs::Limits limits_{tables_, *clock_};
};

TEST_F(WorkersLimits, AreKeptWhileSomethingIsSet) {
  set(jobs::kind_target("archive"), 2, 0);
  set(jobs::table_target("People"), 0, 500);
  set(jobs::partition_target("People", "a/b#?\\ '\xC3\xA9"), 1, 20);
  set(jobs::table_target("PEOPLE"), 3, 500);
  pause("copy", true);
  auto all = run(limits_.list());
  ASSERT_TRUE(all.has_value());
  ASSERT_EQ(all->size(), 4U);
  const auto of = [&](const jobs::LimitTarget& target) {
    for (const auto& limit : *all) {
      if (jobs::limit_key(limit.target) == jobs::limit_key(target)) return limit;
    }
    return jobs::Limit{};
  };
  EXPECT_EQ(of(jobs::kind_target("archive")).max_running, 2U);
  EXPECT_EQ(of(jobs::table_target("people")).max_running, 3U);
  EXPECT_EQ(of(jobs::table_target("people")).max_per_second, 500U);
  EXPECT_EQ(of(jobs::partition_target("people", "a/b#?\\ '\xC3\xA9")).target.partition_key, "a/b#?\\ '\xC3\xA9");
  EXPECT_TRUE(of(jobs::kind_target("copy")).paused);
  set(jobs::kind_target("archive"), 0, 0);
  set(jobs::table_target("People"), 0, 0);
  pause("copy", false);
  all = run(limits_.list());
  ASSERT_TRUE(all.has_value());
  EXPECT_EQ(all->size(), 1U);
}

TEST_F(WorkersLimits, ThereAreOnlySoMany) {
  const auto target = [](std::size_t number) { return jobs::partition_target("People", std::to_string(number)); };
  set(target(0), 1, 0);
  const auto first = run(tables_.get(std::string(jobs::kJobTable), "control", jobs::limit_key(target(0))));
  ASSERT_TRUE(first && *first);
  for (std::size_t number = 1; number + 1 < jobs::kMaxLimits;) {  // more of them, faster than by set()
    std::vector<table_store::Mutation> some;
    for (; some.size() < 100 && number + 1 < jobs::kMaxLimits; ++number) {
      auto& limit = some.emplace_back();
      limit.row_key = jobs::limit_key(target(number));
      limit.properties = (*first)->properties;
    }
    ASSERT_TRUE(run(tables_.mutate(std::string(jobs::kJobTable), "control", std::move(some), std::nullopt)));
  }
  set(target(jobs::kMaxLimits - 1), 1, 0);
  EXPECT_TRUE(run(limits_.set(jobs::table_target("People"), {{}, 1, {}})).failed_with(ErrorCode::kInvalidInput));
  set(jobs::partition_target("People", "7"), 2, 0);
  EXPECT_EQ(run(limits_.list())->size(), jobs::kMaxLimits);
}

TEST_F(WorkersLimits, ALimitOfAKindHoldsOverAllWorkers) {
  set(jobs::kind_target("archive"), 2, 0);
  auto one = gate(), two = gate();
  EXPECT_EQ(run(one->enter("archive", {}, "j1")), Admission::kEntered);
  EXPECT_EQ(run(two->enter("archive", {}, "j2")), Admission::kEntered);
  EXPECT_EQ(run(one->enter("archive", {}, "j3")), Admission::kFull);
  EXPECT_EQ(run(two->enter("archive", {}, "j1")), Admission::kEntered);  // takes over the job with its slot
  EXPECT_EQ(run(one->enter("delete", {}, "j4")), Admission::kEntered);
  finish_task(two->leave("j2"));
  EXPECT_EQ(run(one->enter("archive", {}, "j3")), Admission::kEntered);
}

TEST_F(WorkersLimits, AJobHasASlotOfEachOfItsLimitsOrOfNone) {
  set(jobs::kind_target("archive"), 1, 0);
  set(jobs::table_target("People"), 1, 0);
  auto one = gate(), two = gate();
  EXPECT_EQ(run(one->enter("copy", {"people", "Copies"}, "j1")), Admission::kEntered);
  EXPECT_EQ(run(two->enter("archive", {"People"}, "j2")), Admission::kFull);
  // The refused one holds no slot.
  EXPECT_EQ(run(one->enter("archive", {"Others"}, "j3")), Admission::kEntered);
  EXPECT_EQ(run(two->enter("delete", {"PEOPLE"}, "j4")), Admission::kFull);
  finish_task(one->leave("j1"));
  EXPECT_EQ(run(two->enter("delete", {"PEOPLE"}, "j4")), Admission::kEntered);
}

TEST_F(WorkersLimits, ARateIsSharedByAllWorkersExactly) {
  const auto key = jobs::limit_key(jobs::table_target("People"));
  jobs::Limits other(tables_, *clock_);
  const auto first = run(limits_.book(key, 10, 100));
  const auto second = run(other.book(key, 10, 50));
  const auto third = run(limits_.book(key, 10, 1));
  ASSERT_TRUE(first && second && third);
  EXPECT_EQ(*second - *first, Duration(seconds(10)));
  EXPECT_EQ(*third - *second, Duration(seconds(5)));
}

TEST_F(WorkersLimits, TheTightestRateDecides) {
  set(jobs::kind_target("archive"), 0, 1'000'000);
  set(jobs::partition_target("People", "p"), 0, 10);
  auto one = gate(), two = gate();
  const std::vector<PartitionRef> here{{"People", "p"}, {"Former", "p"}};
  const auto first = run(one->book("archive", here, 100));
  const auto second = run(two->book("archive", here, 100));
  EXPECT_GE(second - first, Duration(seconds(10)));
  // Elsewhere only the kind's rate holds.
  EXPECT_LT(run(two->book("archive", {{"People", "q"}}, 100)) - first, Duration(seconds(5)));
}

TEST_F(WorkersLimits, ChangesOfAQuarterSecondAreBookedTogether) {
  set(jobs::table_target("People"), 0, 4000);
  auto one = gate();
  int calls = 0;
  table_link_.before = [&](std::string) -> Task<Result<void>> {
    ++calls;
    co_return Result<void>{};
  };
  for (int i = 0; i < 10; ++i) run(one->book("archive", {{"People", "p"}}, 100));
  EXPECT_EQ(calls, 2);  // one row read, one written
}

TEST_F(WorkersLimits, SoManyTransactionsAtOnceInAPartition) {
  set(jobs::partition_target("People", "p"), 1, 0);
  auto one = gate(), two = gate();
  const std::vector<PartitionRef> here{{"Former", "p"}, {"People", "p"}};
  auto first = run(one->permit(here, "j1/1"));
  ASSERT_TRUE(first && *first);
  EXPECT_FALSE(run(two->permit(here, "j2/1")));
  const auto elsewhere = run(two->permit({{"People", "q"}}, "j2/1"));
  ASSERT_TRUE(elsewhere.has_value());
  EXPECT_FALSE(*elsewhere) << "no limit, nothing to keep";
  first.reset();
  EXPECT_TRUE(run(two->permit(here, "j2/1")));
}

TEST_F(WorkersLimits, ABulkJobBooksAllThatItChanges) {
  for (int i = 0; i < 30; ++i) put("p" + std::to_string(i % 3), std::to_string(i), i);
  const auto table = jobs::table_target("Source");
  set(table, 2, 1000);
  set(jobs::partition_target("Source", "p1"), 1, 1000);
  const auto begun = clock_->now();
  const auto job = finish(R"({"kind":"delete","source":"source","filter":""})");
  EXPECT_EQ(job.done, 30U);
  EXPECT_TRUE(all("Source").empty());
  EXPECT_GE(booked_until(table) - begun, Duration(std::chrono::milliseconds(30)));
  EXPECT_GE(booked_until(jobs::partition_target("Source", "p1")) - begun, Duration(std::chrono::milliseconds(10)));
}

TEST_F(WorkersLimits, EveryKindHeedsItsTables) {
  set(jobs::table_target("Archive"), 0, 10'000);
  set(jobs::table_target("ByNumber"), 0, 10'000);
  const auto booked = [&](const std::string& table) {
    auto row = run(tables_.get(std::string(jobs::kJobTable), "rates", jobs::limit_key(jobs::table_target(table))));
    return row && *row ? (*row)->version : 0;
  };
  const auto books = [&](const std::string& table, const std::string& text) {
    put("p", "r", 1);
    put("p", "other", 2);
    const auto before = booked(table);
    finish(text);
    return booked(table) > before;
  };
  EXPECT_TRUE(books("Archive",
                    R"({"kind":"archive","source":"Source","destination":"Archive","partitionKey":"p","rowKey":"r"})"));
  EXPECT_TRUE(books("Archive", R"({"kind":"archive","source":"Source","destination":"Archive","filter":""})"));
  EXPECT_TRUE(books("Archive", R"({"kind":"copy","source":"Source","destination":"Archive","filter":""})"));
  EXPECT_TRUE(books("Archive", R"({"kind":"unarchive","source":"Archive","destination":"Source","filter":""})"));
  EXPECT_TRUE(books("Archive", R"({"kind":"archive","source":"Source","destination":"Archive","filter":""})"));
  EXPECT_TRUE(books("Archive", R"({"kind":"delete","source":"Archive","filter":""})"));
  EXPECT_TRUE(books("ByNumber", R"({"kind":"index","source":"Source","property":"Number","destination":"ByNumber"})"));
}

TEST_F(WorkersLimits, APartitionsSlotIsHeldUntilTheChangeIsMade) {
  const auto rows_in = [&](std::string table, std::string filter) -> Task<std::size_t> {
    table_store::QueryRequest request;
    request.table = std::move(table);
    request.filter = std::move(filter);
    auto page = co_await tables_.query(std::move(request));
    co_return page ? page->entities.size() : 0;
  };
  const auto watched_run = [&](const std::string& table, const std::string& text) {
    for (int i = 0; i < 3; ++i) put("p", std::to_string(i), i);
    set(jobs::partition_target(table, "p"), 1, 0);
    std::optional<std::size_t> entities;
    std::size_t slots = 0;
    int changes = 0, unguarded = 0;
    bool looking = false;
    table_link_.before = [&](std::string method) -> Task<Result<void>> {
      if (looking || method == "table.count") co_return Result<void>{};  // the count goes on beside the work
      looking = true;
      // Leaves time for a gate that gave the slot back too early.
      for (int i = 0; i < 50; ++i) co_await asio::post(io_, asio::use_awaitable);
      const auto now = co_await rows_in(table, "PartitionKey eq 'p'");
      if (entities && *entities != now) {
        ++changes;
        if (slots == 0) ++unguarded;
      }
      entities = now;
      slots = co_await rows_in(std::string(jobs::kJobTable), "PartitionKey eq 'slots'");
      looking = false;
      co_return Result<void>{};
    };
    finish(text);
    table_link_.before = nullptr;
    EXPECT_GT(changes, 0) << text;
    EXPECT_EQ(unguarded, 0) << text;
  };
  watched_run("Source", R"({"kind":"archive","source":"Source","destination":"Archive","filter":""})");
  watched_run("Source",
              R"({"kind":"archive","source":"Source","destination":"Archive","partitionKey":"p","rowKey":"1"})");
  watched_run("Copies", R"({"kind":"copy","source":"Source","destination":"Copies","filter":""})");
  watched_run("Source", R"({"kind":"delete","source":"Source","partitionKey":"p","rowKey":"1"})");
  watched_run("Source", R"({"kind":"delete","source":"Source","filter":""})");
}

TEST_F(WorkersLimits, AJobThatFindsItsTableFullWaits) {
  put("p", "r", 1);
  set(jobs::table_target("Source"), 1, 0);
  auto holder = gate();
  ASSERT_EQ(run(holder->enter("copy", {"Source"}, "somebody")), Admission::kEntered);
  const auto job = submit(R"({"kind":"delete","source":"Source","filter":""})");
  EXPECT_EQ(work_next().end, RunEnd::kRetried);
  EXPECT_EQ(waiting().dequeue_count, 0U);
  EXPECT_EQ(all("Source").size(), 1U);
  finish_task(holder->leave("somebody"));
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  EXPECT_EQ(record(job.id).attempts, 1U);
}

TEST_F(WorkersLimits, APausedJobLooksAgainAfterASecond) {
  pause("delete", true);
  submit(R"({"kind":"delete","source":"Source","filter":""})");
  for (int round = 0; round < 2; ++round) {
    const auto before = clock_->now();
    EXPECT_EQ(work_next().end, RunEnd::kRetried);
    const auto again = waiting().next_visible;
    EXPECT_GE(again - before, Duration(seconds(1)));
    EXPECT_LE(again - clock_->now(), Duration(seconds(1)));
  }
}

TEST_F(WorkersLimits, ManyPausedJobsLookOneAfterAnother) {
  pause("delete", true);
  for (int i = 0; i < 50; ++i) submit(R"({"kind":"delete","source":"Source","filter":""})");
  auto messages = run(queues_.receive_some(std::string(jobs::kJobQueue), seconds(30), 32));
  ASSERT_EQ(messages->size(), 32U);
  LimitGate gate(tables_, *clock_, options_.lease);
  JobRunner runner(options_, JobServices{tables_, queues_, jobs_, *clock_, *random_}, gate);
  for (auto& message : *messages) {
    run(runner.run(std::move(message), clock_->now(), std::make_shared<const bool>(false)));
  }
  std::vector<Time> looks;
  const auto page = run(queues_.list(std::string(jobs::kJobQueue), 100, ""));
  for (const auto& message : page->messages) {
    if (message.epoch > 0) looks.push_back(message.next_visible);
  }
  std::sort(looks.begin(), looks.end());
  ASSERT_EQ(looks.size(), 32U);
  EXPECT_GE(looks.back() - looks.front(), Duration(31 * std::chrono::milliseconds(39)));
}

class WorkersThrottled : public WorkersFixture {
 protected:
  /// Refuses the n-th call of the method and `more` after it, like a busy store.
  static std::function<Task<Result<void>>(std::string)> busy(std::string method, int n, int more,
                                                             std::optional<std::string> hint) {
    return [method, n, more, hint, seen = std::make_shared<int>(0)](std::string name) -> Task<Result<void>> {
      if (name != method || ++*seen < n || *seen > n + more) co_return Result<void>{};
      auto error = make_error(ErrorCode::kServerBusy);
      if (hint) error.fields.emplace_back("retryAfterMs", *hint);
      co_return fail(std::move(error));
    };
  }
};

TEST_F(WorkersThrottled, ABusyStoreCostsNoAttempt) {
  put("p", "r", 1);
  const auto job = submit(R"({"kind":"delete","source":"Source","filter":"","maxAttempts":1})");
  table_link_.before = busy("table.mutate", 2, 5, std::nullopt);  // the first claims the record
  for (int i = 0; i < 10 && record(job.id).state != jobs::JobState::kSucceeded; ++i) work_next();
  const auto ended = record(job.id);
  EXPECT_EQ(ended.state, jobs::JobState::kSucceeded);
  EXPECT_EQ(ended.attempts, 1U);
  ASSERT_EQ(ended.history.size(), 1U);
  EXPECT_EQ(ended.history[0].outcome, "succeeded");
}

TEST_F(WorkersThrottled, ItsHintIsHeeded) {
  put("p", "r", 1);
  submit(R"({"kind":"delete","source":"Source","filter":"","maxAttempts":1})");
  table_link_.before = busy("table.mutate", 2, 0, "7000");
  const auto before = clock_->now();
  EXPECT_EQ(work_next().end, RunEnd::kRetried);
  const auto page = run(queues_.list(std::string(jobs::kJobQueue), 10, ""));
  ASSERT_EQ(page->messages.size(), 1U);
  EXPECT_GE(page->messages[0].next_visible - before, Duration(seconds(7)));
  EXPECT_EQ(page->messages[0].dequeue_count, 0U);
}

TEST_F(WorkersThrottled, TheMessageGoesBackAlthoughTheQueueIsBusyToo) {
  put("p", "r", 1);
  const auto job = submit(R"({"kind":"delete","source":"Source","filter":"","maxAttempts":1})");
  table_link_.before = busy("table.mutate", 2, 0, std::nullopt);
  queue_link_.before = busy("queue.release", 1, 2, std::nullopt);
  EXPECT_EQ(work_next().end, RunEnd::kRetried);
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  EXPECT_EQ(record(job.id).attempts, 1U);
}

class WorkersTotals : public WorkersFixture {};

TEST_F(WorkersTotals, ABulkJobKnowsHowMuchThereIs) {
  for (int i = 0; i < 120; ++i) put("p" + std::to_string(i % 7), std::to_string(i), i);
  EXPECT_EQ(finish(R"({"kind":"copy","source":"Source","destination":"Copies","filter":"Number lt 100"})").total, 100U);
  EXPECT_EQ(finish(R"({"kind":"archive","source":"Source","destination":"Archive","filter":"Number lt 90"})").total,
            90U);
  EXPECT_EQ(
      finish(R"({"kind":"unarchive","source":"Archive","destination":"Source","filter":"","maxAffected":1000})").total,
      90U);
}

}  // namespace
}  // namespace tidemark::workers
