// Jobs and users that compete for entities with a job that archives or restores.
#include "jobs/store/rows.h"
#include "workers_objects_fixture.h"

namespace tidemark::workers {
namespace {

/// Parameters: forms of archives, tables too.
class WorkersRivals : public WorkersObjects, public ::testing::WithParamInterface<const char*> {
 protected:
  [[nodiscard]] bool is_table() const { return std::string_view(GetParam()).starts_with('"'); }
  [[nodiscard]] bool has_parts() const { return std::string_view(GetParam()).contains("lines"); }
  std::size_t copies() {
    if (!is_table()) return archived().size();
    return run(tables_.table_exists("Archive")).value_or(false) ? all("Archive").size() : 0;
  }
  /// Tells whether the next change of a table is the removal from the source.
  bool about_to_remove() {
    if (is_table()) {
      const auto copy = table_service_.get(kAccount, "Archive", "p", "r");
      return copy && copy->has_value();
    }
    if (std::string_view(GetParam()).contains("container")) return anything_archived_now();
    return std::ranges::any_of(files(), [&](const std::string& path) {
      const auto key = jobs::catalog_key(jobs::parse_file_path(path)->object);
      const auto row = table_service_.get(kAccount, "TidemarkFiles", "nas", key);
      return row && row->has_value();
    });
  }
  /// The job puts its copy and then cannot reach the table store.
  void stop_before_removal() {
    table_link_.before = [this](std::string method) -> Task<Result<void>> {
      if (method == "table.mutate" && about_to_remove()) co_return fail(ErrorCode::kUnavailable);
      co_return Result<void>{};
    };
    EXPECT_EQ(work_next().end, RunEnd::kRetried);
    table_link_.before = nullptr;
  }
  jobs::JobRecord finish_first(std::string text) {
    text.back() = ',';
    const auto job = submit(text + R"("priority":"high"})");
    auto message = receive("tidemark-jobs-high");
    EXPECT_TRUE(message.has_value());
    LimitGate gate(tables_, *clock_, options_.lease);
    JobRunner runner(options_, services(), gate);
    const auto done =
        run(runner.run(std::move(*message), clock_->now(), std::make_shared<const bool>(false), "tidemark-jobs-high"));
    EXPECT_EQ(done.end, RunEnd::kSucceeded);
    return record(job.id);
  }
  static constexpr const char* kSelections[] = {R"("filter":"")", R"("partitionKey":"p","rowKey":"r")"};
};
INSTANTIATE_TEST_SUITE_P(Forms, WorkersRivals,
                         ::testing::Values(R"("Archive")", kDocuments, kParts, kDocumentFiles, kPartFiles));

TEST_P(WorkersRivals, WhatAnotherJobRemovedFirstIsTakenBack) {
  for (const auto* selection : kSelections) {
    put("p", "r", 1);
    const auto job = submit(archive(GetParam(), selection));
    stop_before_removal();
    EXPECT_EQ(copies(), 1U);
    EXPECT_EQ(finish_first(archive(R"("Elsewhere")", selection)).done, 1U);
    EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
    const auto loser = record(job.id);
    EXPECT_EQ(loser.done, 0U) << selection;
    EXPECT_EQ(loser.skipped, 1U) << selection;
    EXPECT_NE(loser.skips.find("removed by somebody else"), std::string::npos) << loser.skips;
    EXPECT_EQ(copies(), 0U) << selection;
    EXPECT_EQ(all("Elsewhere").size(), 1U);
    EXPECT_TRUE(in_table().empty());
    finish(R"({"kind":"unarchive","source":"Elsewhere","destination":"Source","filter":""})");
  }
}

TEST_P(WorkersRivals, WhatIsRemovedJustThenIsTakenBack) {
  for (const auto* selection : kSelections) {
    put("p", "r", 1);
    const auto job = submit(archive(GetParam(), selection));
    bool removed = false;
    table_link_.before = [&](std::string method) -> Task<Result<void>> {
      if (removed || method != "table.mutate" || !about_to_remove()) co_return Result<void>{};
      removed = true;
      std::vector<Mutation> mutations{jobs::erasure_of("r", {})};
      EXPECT_TRUE((co_await table_service_.mutate(kAccount, "Source", "p", std::move(mutations), {})).has_value());
      co_return Result<void>{};
    };
    EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
    table_link_.before = nullptr;
    EXPECT_TRUE(removed);
    EXPECT_EQ(record(job.id).done, 0U);
    EXPECT_EQ(record(job.id).skipped, 1U);
    EXPECT_EQ(copies(), 0U) << selection;
  }
}

TEST_P(WorkersRivals, TwoJobsWithOneDestinationLeaveOneCopy) {
  for (const auto* selection : kSelections) {
    put("p", "r", 1);
    const auto job = submit(archive(GetParam(), selection));
    stop_before_removal();
    const auto other = finish_first(archive(GetParam(), selection));
    EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
    // A copy that both would share belongs to the job that wrote it.
    EXPECT_EQ(other.done, has_parts() ? 1U : 0U);
    EXPECT_EQ(other.skipped, has_parts() ? 0U : 1U);
    EXPECT_EQ(record(job.id).done, has_parts() ? 0U : 1U);
    EXPECT_EQ(copies(), 1U) << selection;
    EXPECT_TRUE(in_table().empty());
    const auto place = std::string(is_table() ? R"("Archive")" : GetParam());
    EXPECT_EQ(finish(unarchive(place)).done, 1U);
  }
}

TEST_P(WorkersRivals, AJobThatBecamePoisonHoldsNobodyUpAndTakesNothingBackLater) {
  put("p", "r", 1);
  auto text = archive(GetParam());
  text.replace(text.find(R"("maxAttempts":50)"), 16, R"("maxAttempts":1)");
  const auto job = submit(text);
  // The record of the end is a table's change too: only the first change is lost.
  auto end = RunEnd::kRetried;
  bool lost = false;
  table_link_.before = [&](std::string method) -> Task<Result<void>> {
    if (lost || method != "table.mutate" || !about_to_remove()) co_return Result<void>{};
    lost = true;
    co_return fail(ErrorCode::kOperationTimedOut);
  };
  for (int i = 0; i < 5 && end == RunEnd::kRetried; ++i) end = work_next().end;
  table_link_.before = nullptr;
  ASSERT_EQ(end, RunEnd::kPoisoned);
  EXPECT_EQ(finish_first(archive(GetParam())).done, 1U);
  EXPECT_TRUE(in_table().empty());
  ASSERT_TRUE(run(poison_.redrive(job.message_id, std::nullopt, "me")).has_value());
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  EXPECT_EQ(finish(unarchive(std::string(is_table() ? R"("Archive")" : GetParam()))).done, 1U);
  EXPECT_EQ(number_of(in_table().at({"p", "r"})), 1);
}

class WorkersNewer : public WorkersObjects, public ::testing::WithParamInterface<const char*> {};
INSTANTIATE_TEST_SUITE_P(Forms, WorkersNewer,
                         ::testing::Values(R"("Archive")", R"({"container":"old","table":"Source"})",
                                           R"({"directory":"nas","table":"Source"})"));

TEST_P(WorkersNewer, AnOlderEntityStaysAndTheRestGoesOn) {
  ASSERT_TRUE(run(tables_.create_table("Older")).has_value());
  const auto from = [&](const std::string& table, const std::string& selection) {
    return R"({"kind":"archive","source":")" + table + R"(",)" + selection + R"(,"destination":)" + GetParam() + "}";
  };
  put("p", "r", 1, "Older");
  put("p", "r", 2);
  EXPECT_EQ(finish(from("Source", R"("filter":"")")).done, 1U);
  put("p", "s", 3, "Older");
  put("q", "t", 4, "Older");
  const auto job = finish(from("Older", R"("filter":"")"));
  EXPECT_EQ(job.done, 2U);
  EXPECT_EQ(job.skipped, 1U);
  EXPECT_NE(job.skips.find("a newer entity is there"), std::string::npos) << job.skips;
  EXPECT_EQ(all("Older").size(), 1U);
  const auto one = finish(from("Older", R"("partitionKey":"p","rowKey":"r")"));
  EXPECT_EQ(one.done, 0U);
  EXPECT_EQ(one.skipped, 1U);
  EXPECT_EQ(all("Older").size(), 1U);
}

}  // namespace
}  // namespace tidemark::workers
