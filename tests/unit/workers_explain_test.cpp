// The story of one entity, told while jobs move it about.
#include "jobs/explain.h"
#include "tests/unit/workers_fixture.h"

namespace tidemark::workers {
namespace {

using jobs::Relation;

class WorkersExplain : public WorkersFixture {
 protected:
  jobs::Explanation tell(const std::string& table, const std::string& row) {
    auto told = run(jobs::explain(jobs_, schedules_, tables_, *clock_, table, {"p", row}));
    EXPECT_TRUE(told) << told.error().message;
    return told ? std::move(*told) : jobs::Explanation{};
  }
  /// "Archive+ Source-": where it is and where it is not.
  static std::string places(const jobs::Explanation& told) {
    std::string out;
    for (const auto& place : told.places) out += (out.empty() ? "" : " ") + place.name + (place.present ? "+" : "-");
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
};

TEST_F(WorkersExplain, FollowsAnEntityThroughArchiveAndUndo) {
  put("p", "a", 1);
  put("p", "b", 2);
  EXPECT_EQ(places(tell("Source", "a")), "Source+");
  EXPECT_EQ(places(tell("Nowhere", "a")), "Nowhere-");
  const auto version = tell("Source", "a").places[0].version;
  const auto archive = finish(R"({"kind":"archive","source":"Source","destination":"Archive","filter":"Number eq 1"})");
  auto told = tell("source", "a");  // names match whatever their case
  EXPECT_EQ(places(told), "source- Archive+");
  EXPECT_EQ(told.places[1].job, archive.id);
  EXPECT_EQ(told.places[1].source_version, version);
  ASSERT_TRUE(told.places[1].record);
  EXPECT_EQ(told.places[1].record->state, jobs::JobState::kSucceeded);
  EXPECT_EQ(places(tell("Archive", "b")), "Archive- Source+");

  // An undo that waits takes what the archive job wrote, and nothing else.
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
  // A job that names a key concerns it even if there is no such entity; when it has ended, it was for this key.
  EXPECT_EQ(found(tell("Source", "z")), (Found{{other.id, Relation::kWouldTake}}));
  for (int i = 0; i < 4; ++i) work_next();
  EXPECT_EQ(found(tell("Source", "z")), (Found{{other.id, Relation::kNamed}}));
  // The table that was missing comes, and with it an entity that the poisoned job would take if it were sent back.
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

}  // namespace
}  // namespace tidemark::workers
