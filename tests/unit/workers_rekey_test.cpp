// Jobs of kind rekey and merge, end to end.
#include <cmath>

#include "jobs/plan/plan.h"
#include "jobs/store/rows.h"
#include "workers_fixture.h"

namespace tidemark::workers {
namespace {

constexpr const char* kToSales =
    R"({"kind":"rekey","source":"Source","filter":"PartitionKey eq 'eng'","partitionKey":"{Department}",
        "set":{"Department":"sales"}})";

class WorkersRekey : public WorkersFixture {
 protected:
  using Properties = std::vector<table_store::Property>;

  void write(const std::string& partition, const std::string& row, Properties properties,
             std::optional<table_store::Version> source = std::nullopt) {
    Mutation mutation;
    mutation.kind = MutationKind::kInsertOrReplace;
    mutation.row_key = row;
    mutation.properties = std::move(properties);
    mutation.source_version = source;
    auto done = now(table_service_.mutate(kAccount, "Source", partition, {mutation}, std::nullopt));
    ASSERT_TRUE(done.has_value()) << done.error().message;
  }
  void erase(const std::string& partition, const std::string& row) {
    auto task = table_service_.mutate(kAccount, "Source", partition, {jobs::erasure_of(row, {})}, std::nullopt);
    ASSERT_TRUE(now(std::move(task)).has_value());
  }
  /// Can be used in the middle of a call of the job.
  template <class T>
  T now(Task<T> task) {
    asio::io_context io;
    auto future = asio::co_spawn(io, std::move(task), asio::use_future);
    io.run();
    return future.get();
  }
  void employ(int count) {
    for (int i = 0; i < count; ++i) {
      write("eng", std::to_string(100 + i), {{"Department", std::string("eng")}, {"Number", i}});
    }
  }
  /// Returns "pk/rk Department Number" of each entity.
  std::vector<std::string> content() {
    std::vector<std::string> out;
    for (const auto& entity : all("Source")) {
      const auto* department = entity.find("Department");
      const auto* number = entity.find("Number");
      out.push_back(entity.partition_key + "/" + entity.row_key +
                    (department != nullptr ? " " + std::get<std::string>(*department) : "") +
                    (number != nullptr ? " " + std::to_string(std::get<std::int32_t>(*number)) : ""));
    }
    return out;
  }
  void empty() {
    for (const auto& entity : all("Source")) erase(entity.partition_key, entity.row_key);
  }
  /// Does `action` right before the n-th write of the job that is submitted next.
  void before_write(int n, std::function<void()> action) {
    table_link_.before = [n, action, seen = std::make_shared<int>(0)](std::string name) -> Task<Result<void>> {
      if (name == "table.mutate" && ++*seen == n + 1) action();  // the first is the submission's
      co_return Result<void>{};
    };
  }
  /// The job's first delivery ends at the n-th write, before or after it is made.
  void breaks_at_write(int n, bool after, const std::string& text, const std::function<void()>& meanwhile = {}) {
    submit(text);
    table_link_.before = [n, after, seen = std::make_shared<int>(0)](std::string name) -> Task<Result<void>> {
      if (name == "table.mutate" && ++*seen >= n + (after ? 1 : 0)) co_return fail(ErrorCode::kUnavailable);
      co_return Result<void>{};
    };
    EXPECT_EQ(work_next().end, RunEnd::kRetried);
    table_link_.before = nullptr;
    if (meanwhile) meanwhile();
  }
  using Lines = std::vector<std::string>;
};

// The writes of a rekey job are: the claim of the record, the put, the removal.
constexpr int kPut = 2;
constexpr int kRemoval = 3;

TEST_F(WorkersRekey, AnEmployeeChangesDepartmentAndIsAnOriginalThere) {
  employ(250);
  write("eng", "bare", {});
  const auto job = finish(kToSales);
  EXPECT_EQ(job.done, 251U);
  EXPECT_EQ(job.skipped, 0U) << job.skips;
  const auto entities = all("Source");
  ASSERT_EQ(entities.size(), 251U);
  for (const auto& entity : entities) {
    EXPECT_EQ(entity.partition_key, "sales");
    EXPECT_EQ(std::get<std::string>(*entity.find("Department")), "sales");
    EXPECT_FALSE(entity.is_copy());
  }
}

TEST_F(WorkersRekey, OneEntityGetsANewRowKey) {
  employ(2);
  const auto job = finish(
      R"({"kind":"rekey","source":"Source","entity":{"partitionKey":"eng","rowKey":"100"},"rowKey":"n{Number}"})");
  EXPECT_EQ(job.done, 1U);
  EXPECT_EQ(content(), (Lines{"eng/101 eng 1", "eng/n0 eng 0"}));
}

TEST_F(WorkersRekey, WhatStandsInTheWayStaysWhateverItIs) {
  employ(3);
  write("sales", "100", {{"Number", 77}});
  write("sales", "101", {{"Number", 78}}, 1);  // a copy, older than all others
  const auto job = finish(kToSales);
  EXPECT_EQ(job.done, 1U);
  EXPECT_EQ(job.skipped, 2U);
  EXPECT_NE(job.skips.find("another entity is in the way"), std::string::npos) << job.skips;
  EXPECT_EQ(content(), (Lines{"eng/100 eng 0", "eng/101 eng 1", "sales/100 77", "sales/101 78", "sales/102 sales 2"}));
}

TEST_F(WorkersRekey, OfTwoWithTheSameNewKeyOneStays) {
  employ(2);
  const auto job = finish(R"({"kind":"rekey","source":"Source","filter":"","partitionKey":"all","rowKey":"one"})");
  EXPECT_EQ(job.done, 1U);
  EXPECT_EQ(job.skipped, 1U);
  EXPECT_EQ(content(), (Lines{"all/one eng 0", "eng/101 eng 1"}));
}

TEST_F(WorkersRekey, WithoutAKeyOrAChangeOfItOrAsACopyAnEntityStays) {
  write("eng", "a", {{"Number", 1}});
  write("eng", "b", {{"Department", std::string("eng")}});
  write("eng", "c", {{"Department", std::string("sales")}}, 5);
  const auto job =
      finish(R"({"kind":"rekey","source":"Source","filter":"","partitionKey":"{Department}","set":{"New":true}})");
  EXPECT_EQ(job.done, 0U);
  EXPECT_EQ(job.skipped, 3U);
  for (const auto* reason : {"a property of the key is missing", "it has this key already", "a copy, which stays"}) {
    EXPECT_NE(job.skips.find(reason), std::string::npos) << job.skips;
  }
}

TEST_F(WorkersRekey, WhatTheJobHasMovedIsNotMovedAgain) {
  for (int i = 0; i < 1500; ++i) write("p", std::to_string(1000 + i), {{"Number", i}});
  const auto job = finish(R"({"kind":"rekey","source":"Source","filter":"","rowKey":"{RowKey}x"})");
  EXPECT_EQ(job.done, 1500U);
  EXPECT_EQ(job.skipped, 0U) << job.skips;
  const auto entities = all("Source");
  ASSERT_EQ(entities.size(), 1500U);
  EXPECT_EQ(entities.front().row_key, "1000x");
  EXPECT_EQ(entities.back().row_key, "2499x");
}

TEST_F(WorkersRekey, LongNewKeysFitIntoTheNotesOfItsPages) {
  for (int i = 0; i < 500; ++i) write("p", std::to_string(1000 + i), {{"Text", std::string(400, 'x')}});
  const auto job = finish(R"({"kind":"rekey","source":"Source","filter":"","rowKey":"{Text}{RowKey}"})");
  EXPECT_EQ(job.done, 500U);
}

TEST_F(WorkersRekey, AnEntityThatChangesInBetweenGoesWithItsChange) {
  employ(1);
  before_write(kRemoval, [&] { write("eng", "100", {{"Department", std::string("eng")}, {"Number", 5}}); });
  const auto job = finish(kToSales);
  EXPECT_EQ(job.done, 1U);
  EXPECT_EQ(job.skipped, 0U) << job.skips;
  EXPECT_EQ(content(), Lines{"sales/100 sales 5"});
}

TEST_F(WorkersRekey, AnEntityWhoseNewKeyChangesInBetweenIsUnderTheNewestAlone) {
  write("eng", "1", {{"Department", std::string("sales")}});
  before_write(kRemoval, [&] { write("eng", "1", {{"Department", std::string("ops")}}); });
  finish(R"({"kind":"rekey","source":"Source","filter":"PartitionKey eq 'eng'","partitionKey":"{Department}"})");
  EXPECT_EQ(content(), Lines{"ops/1 ops"});
}

TEST_F(WorkersRekey, AnEntityThatIsNotSelectedAnyMoreStays) {
  employ(1);
  before_write(kRemoval, [&] { write("eng", "100", {{"Number", 50}}); });
  const auto job = finish(R"({"kind":"rekey","source":"Source","filter":"Number lt 10","partitionKey":"sales"})");
  EXPECT_EQ(job.done, 0U);
  EXPECT_EQ(content(), Lines{"eng/100 50"});
}

TEST_F(WorkersRekey, AnEntityThatSomebodyElseRemovesIsGone) {
  employ(2);
  before_write(kRemoval, [&] { erase("eng", "100"); });
  const auto job = finish(kToSales);
  EXPECT_EQ(job.done, 1U);
  EXPECT_EQ(job.skipped, 1U);
  EXPECT_EQ(content(), Lines{"sales/101 sales 1"});
}

TEST_F(WorkersRekey, WhatAUserWritesUnderTheNewKeyInBetweenStays) {
  employ(1);
  before_write(kRemoval, [&] { write("sales", "100", {{"Number", 9}}); });
  EXPECT_EQ(finish(kToSales).done, 1U);
  EXPECT_EQ(content(), Lines{"sales/100 9"});
}

TEST_F(WorkersRekey, ANewEntityUnderTheOldKeyIsNotTakenForTheOldOne) {
  employ(1);
  breaks_at_write(kRemoval, true, kToSales, [&] { write("eng", "100", {{"Number", 4}}); });
  // The removal was made and its answer lost; the entity there now was never the one that was moved.
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  EXPECT_EQ(content(), (Lines{"eng/100 4", "sales/100 sales 0"}));
}

TEST_F(WorkersRekey, WhatAnotherEntityOfTheJobHasTakenIsNotTakenBack) {
  // Two pages: the first moves an entity to the key that an entity of the second needs.
  const std::string filler(500, 'x');
  write("a", "1", {{"Number", 1}});
  for (int i = 0; i < 100; ++i) write("b" + filler, std::to_string(100 + i) + filler, {{"Number", 100 + i}});
  write("c", "1", {{"Number", 1}});
  const auto text = R"({"kind":"rekey","source":"Source","filter":"Number eq 1 or Number gt 99","partitionKey":"n",
                        "rowKey":"{Number}"})";
  for (int n = kPut; n < 8; ++n) {
    breaks_at_write(n, true, text);
    EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
    const auto there = content();
    EXPECT_EQ(std::ranges::count(there, "n/1 1"), 1);
    EXPECT_EQ(std::ranges::count(there, "c/1 1"), 1);
    empty();
    write("a", "1", {{"Number", 1}});
    for (int i = 0; i < 100; ++i) write("b" + filler, std::to_string(100 + i) + filler, {{"Number", 100 + i}});
    write("c", "1", {{"Number", 1}});
  }
}

TEST_F(WorkersRekey, AfterADeathBetweenPutAndRemovalTheUsersWordCounts) {
  // A changed entity is moved with its change; a removed one is gone under both keys.
  employ(2);
  breaks_at_write(kPut, true, kToSales, [&] {
    write("eng", "100", {{"Department", std::string("eng")}, {"Number", 5}});
    erase("eng", "101");
  });
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  EXPECT_EQ(content(), Lines{"sales/100 sales 5"});
}

TEST_F(WorkersRekey, WhatItMovedBeforeADeathIsNoSkip) {
  // Both were put, one was removed, and the other has changed since.
  write("a", "1", {{"Number", 1}});
  write("b", "2", {{"Number", 2}});
  breaks_at_write(kRemoval, true, R"({"kind":"rekey","source":"Source","filter":"Number gt 0","partitionKey":"new"})",
                  [&] {
                    const auto left = all("Source").front();
                    write(left.partition_key, left.row_key, {{"Number", 9}});
                  });
  const auto job = work_next();
  ASSERT_EQ(job.end, RunEnd::kSucceeded);
  const auto ended = record(job.job_id);
  EXPECT_EQ(ended.done, 1U);
  EXPECT_EQ(ended.skipped, 1U) << ended.skips;
  EXPECT_EQ(ended.skips.find("perhaps"), std::string::npos) << ended.skips;
  EXPECT_EQ(content().size(), 3U);
}

TEST_F(WorkersRekey, WhatWasArchivedUnderTheNewKeyLongAgoDoesNotReplaceWhatWasMoved) {
  employ(1);
  write("sales", "100", {{"Number", 70}});
  finish(R"({"kind":"archive","source":"Source","destination":"Former","partitionKey":"sales","rowKey":"100"})");
  finish(kToSales);
  const auto back = finish(R"({"kind":"unarchive","source":"Former","destination":"Source","filter":""})");
  EXPECT_EQ(back.skipped, 1U);
  EXPECT_EQ(content(), Lines{"sales/100 sales 0"});
}

TEST_F(WorkersRekey, WhatWasMovedCanBeArchivedAndComesBack) {
  employ(3);
  finish(kToSales);
  EXPECT_EQ(finish(R"({"kind":"archive","source":"Source","destination":"Former","filter":""})").done, 3U);
  EXPECT_EQ(finish(R"({"kind":"unarchive","source":"Former","destination":"Source","filter":""})").done, 3U);
  EXPECT_EQ(content(), (Lines{"sales/100 sales 0", "sales/101 sales 1", "sales/102 sales 2"}));
}

TEST_F(WorkersRekey, ItCannotBeUndone) {
  employ(1);
  const auto job = finish(kToSales);
  const auto undo = submit(R"({"kind":"undo","job":")" + job.id + R"("})");
  EXPECT_EQ(work_next().end, RunEnd::kPoisoned);
  EXPECT_NE(record(undo.id).error.find("cannot be undone"), std::string::npos) << record(undo.id).error;
}

TEST_F(WorkersRekey, ItObeysMaxAffected) {
  employ(5);
  submit(R"({"kind":"rekey","source":"Source","filter":"","partitionKey":"sales","maxAffected":4})");
  EXPECT_EQ(work_next().end, RunEnd::kPoisoned);
  EXPECT_EQ(all("Source").size(), 5U);
  EXPECT_EQ(all("Source").front().partition_key, "eng");
}

TEST_F(WorkersRekey, SurvivesALossAnywhere) {
  survives_a_loss_anywhere(
      kToSales,
      [&] {
        empty();
        employ(6);
        write("sales", "103", {{"Number", 1000}});
      },
      [&](const jobs::JobRecord& job) {
        EXPECT_EQ(content(), (Lines{"eng/103 eng 3", "sales/100 sales 0", "sales/101 sales 1", "sales/102 sales 2",
                                    "sales/103 1000", "sales/104 sales 4", "sales/105 sales 5"}));
        EXPECT_EQ(job.done, 5U);
        EXPECT_EQ(job.skipped, 1U) << job.skips;
      });
}

TEST_F(WorkersRekey, OneEntitySurvivesALossAnywhere) {
  survives_a_loss_anywhere(
      R"({"kind":"rekey","source":"Source","entity":{"partitionKey":"eng","rowKey":"100"},"partitionKey":"sales"})",
      [&] {
        empty();
        employ(2);
      },
      [&](const jobs::JobRecord& job) {
        EXPECT_EQ(content(), (Lines{"eng/101 eng 1", "sales/100 eng 0"}));
        EXPECT_EQ(job.done, 1U);
      });
}

TEST_F(WorkersRekey, ItsPlanSaysWhereEachWouldGo) {
  employ(2);
  write("sales", "101", {});
  const auto plan = run(jobs::plan_job({jobs_, poison_, tables_}, *jobs::parse_job_spec(kToSales)));
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->keys, 2U);
  ASSERT_EQ(plan->samples.size(), 2U);
  EXPECT_EQ(plan->samples[0].steps.size(), 2U);
  EXPECT_NE(plan->samples[0].steps[0].find("sales / 100"), std::string::npos) << plan->samples[0].steps[0];
  EXPECT_NE(plan->samples[1].steps[0].find("in the way"), std::string::npos) << plan->samples[1].steps[0];
}

TEST_F(WorkersRekey, MergeSetsPropertiesOfAllThatAreSelectedAndKeepsTheOthers) {
  employ(250);
  const auto job =
      finish(R"({"kind":"merge","source":"Source","filter":"Number lt 200","set":{"Department":"sales","Big":
                 {"type":"Int64","value":"5000000000"}}})");
  EXPECT_EQ(job.done, 200U);
  int sales = 0;
  for (const auto& entity : all("Source")) {
    const bool set = std::get<std::string>(*entity.find("Department")) == "sales";
    sales += set ? 1 : 0;
    EXPECT_EQ(set, std::get<std::int32_t>(*entity.find("Number")) < 200);
    if (set) EXPECT_EQ(std::get<std::int64_t>(*entity.find("Big")), 5'000'000'000);
  }
  EXPECT_EQ(sales, 200);
}

TEST_F(WorkersRekey, MergeTellsTheTwoZeroesApart) {
  write("eng", "1", {{"Left", 0.0}});
  EXPECT_EQ(finish(R"({"kind":"merge","source":"Source","filter":"","set":{"Left":-0.0}})").done, 1U);
  EXPECT_TRUE(std::signbit(std::get<double>(*all("Source").front().find("Left"))));
}

TEST_F(WorkersRekey, MergeWritesNothingThatIsSoAlready) {
  employ(3);
  const auto before = all("Source");
  const auto job = finish(R"({"kind":"merge","source":"Source","filter":"","set":{"Department":"eng"}})");
  EXPECT_EQ(job.done, 3U);
  const auto after = all("Source");
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(after[i].version, before[i].version);
  // Another type is another value.
  finish(R"({"kind":"merge","source":"Source","filter":"","set":{"Number":{"type":"Int64","value":"1"}}})");
  EXPECT_EQ(std::get<std::int64_t>(*all("Source").front().find("Number")), 1);
}

TEST_F(WorkersRekey, MergeLooksAgainAtWhatChangedMeanwhile) {
  employ(3);
  before_write(2, [&] {
    write("eng", "100", {{"Number", 1}});   // still selected
    write("eng", "101", {{"Number", 50}});  // not any more
    erase("eng", "102");
  });
  const auto job = finish(R"({"kind":"merge","source":"Source","filter":"Number lt 10","set":{"Department":"sales"}})");
  EXPECT_EQ(job.done, 1U);
  EXPECT_EQ(content(), (Lines{"eng/100 sales 1", "eng/101 50"}));
}

TEST_F(WorkersRekey, MergeSkipsWhatWouldBeTooLarge) {
  Properties full;
  for (int i = 0; i < 252; ++i) full.push_back({"P" + std::to_string(i), i});
  write("p", "full", full);
  write("p", "room", {});
  const auto job = finish(R"({"kind":"merge","source":"Source","filter":"","set":{"More":1}})");
  EXPECT_EQ(job.done, 1U);
  EXPECT_EQ(job.skipped, 1U);
  EXPECT_NE(job.skips.find("too large"), std::string::npos) << job.skips;
}

/// The worker that died had made changes that no filter finds any more.
TEST_F(WorkersRekey, AMergeCountsWhatItNoLongerSelects) {
  survives_a_loss_anywhere(
      R"({"kind":"merge","source":"Source","filter":"Number lt 5","set":{"Number":5}})",
      [&] {
        for (int i = 0; i < 6; ++i) put("p" + std::to_string(i % 2), std::to_string(i), i);
      },
      [&](const jobs::JobRecord& job) { EXPECT_EQ(job.done, 5U); });
}

TEST_F(WorkersRekey, MergeSurvivesALossAnywhere) {
  survives_a_loss_anywhere(
      R"({"kind":"merge","source":"Source","filter":"Number lt 3","set":{"Department":"sales"}})",
      [&] {
        empty();
        employ(4);
      },
      [&](const jobs::JobRecord& job) {
        EXPECT_EQ(content(), (Lines{"eng/100 sales 0", "eng/101 sales 1", "eng/102 sales 2", "eng/103 eng 3"}));
        EXPECT_EQ(job.done, 3U);
      });
}

}  // namespace
}  // namespace tidemark::workers
