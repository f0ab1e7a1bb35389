// The explanation of one entity while jobs move it: through tables, containers and directories.
#include "api/explain/explain.h"

#include <filesystem>

#include "tests/unit/workers_fixture.h"

namespace tidemark::workers {
namespace {

using jobs::Relation;

class WorkersExplain : public WorkersFixture {
 protected:
  void SetUp() override {
    WorkersFixture::SetUp();
    directory_ = std::filesystem::temp_directory_path() / ("tidemark-explain-" + make_system_random()->guid());
    std::filesystem::create_directory(directory_);
    auto opened = jobs::open_directories("nas=" + directory_.string(), io_.get_executor());
    ASSERT_TRUE(opened.has_value());
    directories_ = std::move(*opened);
    access_ = {&blobs_, directories_};
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  jobs::JobRecord archive_to(const std::string& place, const std::string& filter = "") {
    return finish(R"({"kind":"archive","source":"Source","filter":")" + filter + R"(","destination":)" + place + "}");
  }
  jobs::Explanation tell(const std::string& table, const std::string& row) {
    auto told = run(jobs::explain({jobs_, poison_, schedules_, queues_, tables_}, access_, *clock_, table, {"p", row}));
    EXPECT_TRUE(told) << told.error().message;
    return told ? std::move(*told) : jobs::Explanation{};
  }
  /// Returns "Archive+ Source-": where the entity is and where it is not.
  static std::string places(const jobs::Explanation& told) {
    std::string out;
    for (const auto& place : told.places)
      out += (out.empty() ? "" : " ") + name_of(place.location) + (place.present ? "+" : "-");
    return out;
  }
  static std::vector<std::pair<std::string, Relation>> found(const jobs::Explanation& told) {
    std::vector<std::pair<std::string, Relation>> out;
    for (const auto& job : told.jobs) out.emplace_back(job.record.id, job.relation);
    return out;
  }
  jobs::JobRecord poisoned_by_a_missing_table() {
    const auto job = submit(R"({"kind":"delete","source":"Missing","filter":""})");
    EXPECT_EQ(work_next().end, RunEnd::kPoisoned);
    return record(job.id);
  }
  using Found = std::vector<std::pair<std::string, Relation>>;

  jobs::ScheduleStore schedules_{tables_, *clock_};
  jobs::ObjectAccess access_;
  std::filesystem::path directory_;
};

TEST_F(WorkersExplain, FollowsAnEntityThroughArchiveAndUndo) {
  put("p", "a", 1);
  put("p", "b", 2);
  EXPECT_EQ(places(tell("Source", "a")), "Source+");
  EXPECT_EQ(places(tell("Nowhere", "a")), "Nowhere-");
  const auto version = tell("Source", "a").places[0].version;
  const auto archive = finish(R"({"kind":"archive","source":"Source","destination":"Archive","filter":"Number eq 1"})");
  auto told = tell("source", "a");  // names match in any letter case
  EXPECT_EQ(places(told), "source- Archive+");
  EXPECT_EQ(told.places[1].job, archive.id);
  EXPECT_EQ(told.places[1].source_version, version);
  ASSERT_TRUE(told.places[1].record);
  EXPECT_EQ(told.places[1].record->state, jobs::JobState::kSucceeded);
  EXPECT_EQ(places(tell("Archive", "b")), "Archive- Source+");

  // A waiting undo takes the entities that the archive job wrote, and nothing else.
  const auto undo = submit(R"({"kind":"undo","job":")" + archive.id + R"("})");
  EXPECT_EQ(found(tell("Source", "a")), (Found{{undo.id, Relation::kWouldTake}}));
  EXPECT_TRUE(tell("Source", "b").jobs.empty());
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  told = tell("Source", "a");
  EXPECT_EQ(places(told), "Source+ Archive-");
  EXPECT_EQ(told.places[0].job, undo.id);
  EXPECT_TRUE(told.jobs.empty());
}

TEST_F(WorkersExplain, EvaluatesTheFiltersOfJobsThatHaveNotSucceeded) {
  put("p", "a", 1);
  const auto gone = poisoned_by_a_missing_table();
  EXPECT_TRUE(tell("Source", "a").jobs.empty());  // of another table
  const auto small = submit(R"({"kind":"delete","source":"Source","filter":"Number lt 2"})");
  submit(R"({"kind":"delete","source":"Source","filter":"Number gt 2"})");
  const auto other = submit(R"({"kind":"delete","source":"Source","partitionKey":"p","rowKey":"z"})");
  const auto whole = submit(R"({"kind":"delete","source":"Source","wholeTable":true})");
  EXPECT_EQ(found(tell("Source", "a")), (Found{{whole.id, Relation::kWouldTake}, {small.id, Relation::kWouldTake}}));
  // A job that names a key concerns it even if there is no such entity; once it has ended, it was for this key.
  EXPECT_EQ(found(tell("Source", "z")), (Found{{other.id, Relation::kWouldTake}}));
  for (int i = 0; i < 4; ++i) work_next();
  EXPECT_EQ(found(tell("Source", "z")), (Found{{other.id, Relation::kNamed}}));
  // The missing table is made, and with it an entity that the poisoned job would take if it were sent back.
  ASSERT_TRUE(run(tables_.create_table("Missing")).has_value());
  put("p", "a", 1, "Missing");
  EXPECT_EQ(found(tell("Missing", "a")), (Found{{gone.id, Relation::kGaveUp}}));
}

TEST_F(WorkersExplain, SaysWhenItDidNotLookAtEverything) {
  put("p", "a", 1);
  for (int i = 0; i < 40; ++i) {
    submit(R"({"kind":"archive","source":"Source","destination":"Archive)" + std::to_string(i) +
           R"(","partitionKey":"q","rowKey":"r"})");
  }
  const auto told = tell("Source", "a");
  EXPECT_EQ(told.places.size(), 32U);
  EXPECT_FALSE(told.complete);
  EXPECT_EQ(told.looked_at_jobs, 40U);
  EXPECT_TRUE(told.jobs.empty());
}

TEST_F(WorkersExplain, FindsTheDocumentOfAnArchivedEntity) {
  put("p", "a", 1);
  put("p", "b", 2);
  const auto version = tell("Source", "a").places[0].version;
  const auto archive = archive_to(R"({"container":"old","prefix":"x/"})", "Number eq 1");
  auto told = tell("Source", "a");
  ASSERT_EQ(places(told), "Source- old+");
  EXPECT_EQ(told.places[1].objects, std::vector<std::string>{"x/source/p/a.json"});
  EXPECT_EQ(told.places[1].source_version, version);
  EXPECT_EQ(told.places[1].job, archive.id);
  ASSERT_TRUE(told.places[1].record);
  EXPECT_TRUE(told.complete);
  EXPECT_EQ(places(tell("Source", "b")), "Source+ old-");

  // Waiting jobs are judged by the archived entity.
  const auto back = [](int number) {
    return R"({"kind":"unarchive","source":{"container":"old","prefix":"x/"},"destination":"Source",)"
           R"("filter":"Number eq )" +
           std::to_string(number) + R"("})";
  };
  const auto mine = submit(back(1));
  submit(back(2));
  const auto undo = submit(R"({"kind":"undo","job":")" + archive.id + R"("})");
  told = tell("Source", "a");
  EXPECT_EQ(found(told), (Found{{undo.id, Relation::kWouldTake}, {mine.id, Relation::kWouldTake}}));
  EXPECT_TRUE(told.jobs[0].from.archive);
  EXPECT_TRUE(tell("Source", "b").jobs.empty());
}

TEST_F(WorkersExplain, FindsEveryPartThatHoldsTheKey) {
  const std::string parts = R"({"container":"old","format":"lines","gzip":true})";
  put("p", "a", 1);
  put("p", "b", 1);
  archive_to(parts);
  put("p", "a", 2);
  const auto version = tell("Source", "a").places[0].version;
  const auto second = archive_to(parts);
  const auto told = tell("Source", "a");
  ASSERT_EQ(places(told), "Source- old+");
  EXPECT_EQ(told.places[1].objects.size(), 2U);
  EXPECT_EQ(told.places[1].source_version, version) << "the newest counts";
  EXPECT_EQ(told.places[1].job, second.id);
  EXPECT_EQ(tell("Source", "b").places[1].objects.size(), 1U);
  EXPECT_EQ(places(tell("Source", "c")), "Source- old-");
  EXPECT_TRUE(told.complete);
}

TEST_F(WorkersExplain, SaysWhichPartsItDidNotLookInto) {
  constexpr std::size_t kParts = 70;
  std::size_t present = 0;
  for (std::size_t i = 0; i < kParts; ++i) {
    put("p", std::to_string(i), 1);
    archive_to(R"({"container":"old","format":"lines","per":"month"})");
  }
  for (std::size_t i = 0; i < kParts; ++i) {
    const auto told = tell("Source", std::to_string(i));
    ASSERT_EQ(told.places.size(), 2U);
    EXPECT_EQ(told.places[1].may_be_in.size(), 6U);
    EXPECT_FALSE(told.complete);
    if (told.places[1].present) ++present;
  }
  EXPECT_EQ(present, kParts - 6);
}

TEST_F(WorkersExplain, TellsOfADirectoryWhatItsCatalogTells) {
  put("p", "a", 1);
  put("p", "b", 2);
  const auto archive = archive_to(R"({"directory":"nas"})", "Number eq 1");
  archive_to(R"({"directory":"nas","prefix":"lines/","format":"lines"})");
  auto told = tell("Source", "a");
  EXPECT_EQ(places(told), "Source- nas- nas+");
  EXPECT_TRUE(told.complete);
  const auto seen = told.places[2];
  EXPECT_EQ(seen.job, archive.id);
  access_ = {};  // a process that may not read the archive
  told = tell("Source", "a");
  ASSERT_EQ(places(told), "Source- nas- nas+");
  EXPECT_EQ(told.places[2].objects, seen.objects);
  EXPECT_EQ(told.places[2].job, seen.job);
  EXPECT_EQ(told.places[2].source_version, seen.source_version);
  EXPECT_EQ(told.places[1].may_be_in.size(), 1U);
  EXPECT_FALSE(told.places[1].problem.empty());
  EXPECT_FALSE(told.complete);
  EXPECT_EQ(places(tell("Source", "nobody")), "Source- nas- nas-");
}

TEST_F(WorkersExplain, ACatalogWithoutTheEntityLeavesNothingOpen) {
  put("p", "a", 1);
  put("p", "b", 2);
  archive_to(R"({"directory":"nas"})", "Number eq 1");
  access_ = {};
  EXPECT_FALSE(tell("Source", "a").complete) << "its properties are not known";
  const auto told = tell("Source", "b");
  EXPECT_EQ(places(told), "Source+ nas-");
  EXPECT_TRUE(told.complete);
}

TEST_F(WorkersExplain, AContainerThatCannotBeReadIsNotTheEndOfTheStory) {
  put("p", "a", 1);
  archive_to(R"({"container":"old"})");
  archive_to(R"({"container":"older"})");
  put("p", "a", 2);
  int calls = 0;
  blob_link_.before = [&calls](std::string) -> Task<Result<void>> {
    ++calls;
    co_return fail(ErrorCode::kUnavailable);
  };
  const auto told = tell("Source", "a");
  blob_link_.before = nullptr;
  EXPECT_EQ(places(told), "Source+ older- old-");
  EXPECT_FALSE(told.places[1].problem.empty());
  EXPECT_FALSE(told.places[2].problem.empty());
  EXPECT_EQ(calls, 1) << "each would wait for its deadline";
  EXPECT_FALSE(told.complete);
}

TEST_F(WorkersExplain, KnowsTheBlobsOfLargeProperties) {
  Mutation mutation;
  mutation.kind = MutationKind::kInsertOrReplace;
  mutation.row_key = "a";
  mutation.properties = {{"Picture", table_store::Binary{std::string(5000, 'x')}}, {"Text", std::string(400, 'y')}};
  ASSERT_TRUE(run(tables_.mutate("Source", "p", {mutation}, std::nullopt)).has_value());
  finish(R"({"kind":"offload","source":"Source","filter":"","container":"values","minBytes":100})");
  auto told = tell("Source", "a");
  ASSERT_EQ(told.places[0].blobs.size(), 2U);
  EXPECT_EQ(told.places[0].blobs[0].property, "Picture");
  EXPECT_EQ(told.places[0].blobs[0].link.size, 5000U);
  EXPECT_TRUE(told.places[0].blobs[0].present);
  ASSERT_TRUE(run(blobs_.erase("values", told.places[0].blobs[0].link.name, {{"clean", 1, ""}, 1})).has_value());
  told = tell("Source", "a");
  EXPECT_FALSE(told.places[0].blobs[0].present);
  EXPECT_TRUE(told.places[0].blobs[1].present);
  EXPECT_TRUE(told.complete);
}

TEST_F(WorkersExplain, TellsOfWhatWasGivenUpAndOfWhatWaitsHoweverManyJobsCameLater) {
  const auto gone = poisoned_by_a_missing_table();
  const auto waiting = submit(R"({"kind":"delete","source":"Missing","filter":"Number lt 2"})");
  std::vector<jobs::JobSpec> later(2'000, *jobs::parse_job_spec(R"({"kind":"delete","source":"Source","filter":""})"));
  for (const auto& outcome : run(jobs_.submit_all(std::move(later)))) ASSERT_TRUE(outcome.has_value());
  ASSERT_TRUE(run(tables_.create_table("Missing")).has_value());
  put("p", "a", 1, "Missing");
  const auto told = tell("Missing", "a");
  EXPECT_EQ(found(told), (Found{{waiting.id, Relation::kWouldTake}, {gone.id, Relation::kGaveUp}}));
  EXPECT_FALSE(told.complete);
}

TEST_F(WorkersExplain, FollowsTheKeyTemplatesOfCopies) {
  put("p", "a", 1);
  const auto copy_to = [](const std::string& destination) {
    return R"({"kind":"copy","source":"Source","destination":")" + destination +
           R"(","partitionKeyTemplate":"by-{Number}","rowKeyTemplate":"{PartitionKey}_{RowKey}","filter":""})";
  };
  const auto copy = finish(copy_to("Copies"));
  const auto version = tell("Source", "a").places[0].version;
  const auto told = tell("Source", "a");
  ASSERT_EQ(places(told), "Source+ Copies+");
  EXPECT_EQ(told.places[1].key, (jobs::EntityKey{"by-1", "p_a"}));
  EXPECT_EQ(told.places[1].job, copy.id);
  EXPECT_EQ(told.places[1].source_version, version);
  EXPECT_EQ(places(tell("Source", "nobody")), "Source-");
  // A job that would take the copy concerns the entity, and the report shows where a copy would be once a job has run.
  const auto erasing = submit(R"({"kind":"delete","source":"Copies","partitionKey":"by-1","rowKey":"p_a"})");
  const auto waiting = submit(copy_to("Source"));
  const auto later = tell("Source", "a");
  EXPECT_EQ(places(later), "Source+ Source- Copies+");
  EXPECT_EQ(found(later), (Found{{waiting.id, Relation::kWouldTake}, {erasing.id, Relation::kWouldTake}}));
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  EXPECT_EQ(places(tell("Source", "a")), "Source+ Source+ Copies-");
  // The report of an archived version also tells where the copies are.
  archive_to(R"({"container":"old"})", "Number eq 1 and RowKey eq 'a'");
  EXPECT_EQ(places(tell("Source", "a")), "Source- old+ Source+ Copies- old-");
}

}  // namespace
}  // namespace tidemark::workers
