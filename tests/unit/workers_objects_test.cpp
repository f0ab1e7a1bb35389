// Entities that go into archives outside of tables and come back.
#include "jobs/plan/plan.h"
#include "jobs/store/rows.h"
#include "table_store/odata/entity_text.h"
#include "tests/support/seeded_random.h"
#include "workers_objects_fixture.h"

namespace tidemark::workers {
namespace {

class WorkersObjectsForms : public WorkersObjects, public ::testing::WithParamInterface<const char*> {};
INSTANTIATE_TEST_SUITE_P(Forms, WorkersObjectsForms,
                         ::testing::Values(kDocuments, kParts, kDays, kDocumentFiles, kPartFiles),
                         [](const auto& form) {
                           return std::string(form.param == kDocuments   ? "Documents"
                                              : form.param == kParts     ? "PartsPerPartition"
                                              : form.param == kDays      ? "PartsPerDay"
                                              : form.param == kPartFiles ? "PartsInFiles"
                                                                         : "DocumentsInFiles");
                         });

TEST_P(WorkersObjectsForms, MovesThereAndBackExactly) {
  fill(30);
  const auto before = in_table();
  const auto there = finish(archive(GetParam(), R"("filter":"Number lt 20")"));
  EXPECT_EQ(there.done, 20U);
  EXPECT_EQ(in_table().size(), 10U);
  const auto kept = archived();
  ASSERT_EQ(kept.size(), 20U);
  for (const auto& [key, entity] : kept) {
    EXPECT_EQ(entity.version, before.at(key).version);
    EXPECT_EQ(number_of(entity), number_of(before.at(key)));
    EXPECT_EQ(entity.operation, there.id);
  }
  EXPECT_EQ(finish(unarchive(GetParam(), R"("filter":"Number ge 5")")).done, 15U);
  EXPECT_EQ(archived().size(), 5U);
  EXPECT_EQ(finish(unarchive(GetParam())).done, 5U);
  EXPECT_TRUE(names().empty());
  const auto after = in_table();
  ASSERT_EQ(after.size(), 30U);
  for (const auto& [key, entity] : after) EXPECT_EQ(number_of(entity), number_of(before.at(key)));
}

TEST_P(WorkersObjectsForms, MovesOneEntityThereAndBack) {
  fill(3);
  const auto one = R"("partitionKey":"p1","rowKey":"r1")";
  EXPECT_EQ(finish(archive(GetParam(), one)).done, 1U);
  EXPECT_EQ(archived().count({"p1", "r1"}), 1U);
  EXPECT_EQ(in_table().size(), 2U);
  const auto missing = finish(archive(GetParam(), R"("partitionKey":"p1","rowKey":"nobody")"));
  EXPECT_EQ(missing.done, 0U);
  EXPECT_EQ(missing.skipped, 1U);
  EXPECT_EQ(finish(unarchive(GetParam(), one)).done, 1U);
  EXPECT_TRUE(names().empty());
  EXPECT_EQ(in_table().size(), 3U);
  EXPECT_EQ(finish(unarchive(GetParam(), one)).skipped, 1U);
}

TEST_P(WorkersObjectsForms, APlanOfRestoringCountsWhatIsThere) {
  fill(9);
  finish(archive(GetParam()));
  const auto plan = [&](const std::string& selection, jobs::ObjectAccess access) {
    auto spec = jobs::parse_job_spec(unarchive(GetParam(), selection));
    EXPECT_TRUE(spec.has_value());
    auto planned = run(jobs::plan_job({jobs_, poison_, tables_, std::move(access)}, *spec));
    EXPECT_TRUE(planned.has_value());
    return planned ? std::move(*planned) : jobs::JobPlan{};
  };
  const jobs::ObjectAccess access{&blobs_, directories_};
  const auto some = plan(R"("filter":"Number lt 4")", access);
  EXPECT_EQ(some.keys, 4U);
  EXPECT_TRUE(some.complete);
  ASSERT_EQ(some.samples.size(), 4U);
  EXPECT_NE(some.samples[0].steps[0].find("copy to Source: nothing is there"), std::string::npos);
  EXPECT_EQ(plan(R"("partitionKey":"p1","rowKey":"r1")", access).keys, 1U);
  // A process that cannot reach the archive says so.
  const auto blind = plan(R"("filter":"")", {});
  EXPECT_EQ(blind.keys, 0U);
  EXPECT_FALSE(blind.complete);
  EXPECT_TRUE(blind.problems.empty()) << "the workers may reach it";
  EXPECT_EQ(archived().size(), 9U);
}

TEST_P(WorkersObjectsForms, UndoOfTheArchivingAndOfTheUndo) {
  fill(9);
  const auto first = finish(archive(GetParam(), R"("filter":"Number lt 4")"));
  finish(archive(GetParam()));
  EXPECT_EQ(archived().size(), 9U);
  const auto undo = finish(R"({"kind":"undo","job":")" + first.id + R"("})");
  EXPECT_EQ(undo.done, 4U);
  EXPECT_EQ(in_table().size(), 4U);
  EXPECT_EQ(archived().size(), 5U);
  EXPECT_EQ(finish(R"({"kind":"undo","job":")" + undo.id + R"("})").done, 4U);
  EXPECT_EQ(archived().size(), 9U);
}

TEST_P(WorkersObjectsForms, AnEntityWrittenSinceStaysWithItsArchivedVersion) {
  put("p", "r", 1);
  finish(archive(GetParam()));
  put("p", "r", 2);
  const auto job = finish(unarchive(GetParam()));
  EXPECT_EQ(job.done, 0U);
  EXPECT_EQ(job.skipped, 1U);
  EXPECT_EQ(number_of(in_table().at({"p", "r"})), 2);
  EXPECT_EQ(number_of(archived().at({"p", "r"})), 1);
}

TEST_P(WorkersObjectsForms, TheNewestVersionIsRestoredEvenIfAnOlderOneIsSelected) {
  put("p", "r", 1);
  put("p", "other", 1);
  finish(archive(GetParam()));
  put("p", "r", 2);
  finish(archive(GetParam()));
  EXPECT_EQ(finish(unarchive(GetParam(), R"("filter":"Number eq 1")")).done, 1U);
  EXPECT_EQ(in_table().size(), 1U);
  EXPECT_EQ(number_of(archived().at({"p", "r"})), 2);
  EXPECT_EQ(finish(unarchive(GetParam())).done, 1U);
  EXPECT_EQ(number_of(in_table().at({"p", "r"})), 2);
  EXPECT_TRUE(names().empty());
}

TEST_P(WorkersObjectsForms, OneEntityComesBackInItsNewestVersion) {
  for (const int number : {1, 2}) {
    put("p", "r", number);
    finish(archive(GetParam()));
  }
  EXPECT_EQ(finish(unarchive(GetParam(), R"("partitionKey":"p","rowKey":"r")")).done, 1U);
  EXPECT_EQ(number_of(in_table().at({"p", "r"})), 2);
  EXPECT_TRUE(names().empty());
}

TEST_P(WorkersObjectsForms, AnEntityUpdatedBeforeItsRemovalIsArchivedAgain) {
  fill(3);
  const auto job = submit(archive(GetParam()));
  bool updated = false;
  int mutations_seen = 0;
  const std::string_view form = GetParam();
  const int first_removal = form == kDocumentFiles ? 4 : form == kPartFiles ? 2 : 1;
  table_link_.before = [&](std::string method) -> Task<Result<void>> {
    // The first mutation after something is in the archive is the removal; a file's own row comes before it.
    const bool counted = method == "table.mutate" && anything_archived_now() && ++mutations_seen >= first_removal;
    if (updated || !counted) co_return Result<void>{};
    updated = true;
    Mutation mutation;
    mutation.kind = MutationKind::kReplace;
    mutation.row_key = "r1";
    mutation.properties = {{"Number", std::int32_t{77}}};
    std::vector<Mutation> mutations{mutation};
    auto done = co_await table_service_.mutate(kAccount, "Source", "p1", std::move(mutations), std::nullopt);
    EXPECT_TRUE(done.has_value());
    co_return Result<void>{};
  };
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  table_link_.before = nullptr;
  EXPECT_TRUE(updated);
  EXPECT_EQ(record(job.id).done, 3U);
  EXPECT_TRUE(in_table().empty());
  EXPECT_EQ(number_of(archived().at({"p1", "r1"})), 77);
}

TEST_P(WorkersObjectsForms, ArchivingSurvivesALossAnywhere) {
  int round = 0;
  survives_a_loss_anywhere(
      archive(GetParam(), R"("filter":"Number ge 0")"),
      [&] {
        ++round;
        for (int i = 0; i < 4; ++i) put("p" + std::to_string(i % 2), std::to_string(round * 10 + i), i);
      },
      [&](const jobs::JobRecord& job) {
        EXPECT_EQ(job.done, 4U);
        EXPECT_TRUE(in_table().empty());
        EXPECT_EQ(archived().size(), static_cast<std::size_t>(4 * round));
      });
}

TEST_P(WorkersObjectsForms, RestoringSurvivesALossAnywhere) {
  survives_a_loss_anywhere(
      unarchive(GetParam(), R"("filter":"Number ge 2")"),
      [&] {
        // Removes the rest of the previous round from the archive: a key that is archived again would be in two parts.
        if (anything_archived_now()) finish(unarchive(GetParam()));
        for (int i = 0; i < 6; ++i) put("p" + std::to_string(i % 2), std::to_string(i), i);
        finish(archive(GetParam()));
        EXPECT_TRUE(in_table().empty());
      },
      [&](const jobs::JobRecord& job) {
        EXPECT_EQ(job.done, 4U);
        EXPECT_EQ(in_table().size(), 4U);
        EXPECT_EQ(archived().size(), 2U);
      });
}

TEST_P(WorkersObjectsForms, NothingAppearsOnceACancelIsAnswered) {
  put("p", "r", 1);
  const auto job = submit(archive(GetParam()));
  const bool files = std::string_view(GetParam()).find("directory") != std::string_view::npos;
  cancel_at_first(files ? "table.mutate" : "blob.put", job.id);
  EXPECT_EQ(work_next().end, RunEnd::kDropped);
  table_link_.before = blob_link_.before = nullptr;
  EXPECT_EQ(record(job.id).state, jobs::JobState::kCancelled);
  EXPECT_TRUE(archived().empty());
  EXPECT_EQ(in_table().size(), 1U);
}

TEST_P(WorkersObjectsForms, NothingGoesOnceACancelIsAnswered) {
  put("p", "r", 1);
  const auto first = finish(archive(GetParam()));
  const auto undo = submit(R"({"kind":"undo","job":")" + first.id + R"("})");
  const bool files = std::string_view(GetParam()).find("directory") != std::string_view::npos;
  cancel_at_first(files ? "table.mutate" : "blob.erase", undo.id);
  EXPECT_EQ(work_next().end, RunEnd::kDropped);
  table_link_.before = blob_link_.before = nullptr;
  EXPECT_EQ(record(undo.id).state, jobs::JobState::kCancelled);
  EXPECT_EQ(archived().size(), 1U);
}

TEST_P(WorkersObjectsForms, AStaleDeliveryWritesNothing) {
  put("p", "r", 1);
  submit(archive(GetParam()));
  auto stale = receive();
  ASSERT_TRUE(stale.has_value());
  queue_service::Lease lease{"tidemark-jobs", stale->id, stale->epoch};
  ASSERT_TRUE(run(queues_.release(lease, Duration::zero(), "", true)).has_value());
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  put("p", "r", 2);
  const auto before = names();
  EXPECT_NE(work(std::move(*stale)).end, RunEnd::kSucceeded);
  EXPECT_EQ(names(), before);
  EXPECT_EQ(number_of(in_table().at({"p", "r"})), 2);
  EXPECT_EQ(number_of(archived().at({"p", "r"})), 1);
}

TEST_P(WorkersObjectsForms, ARestoredKeyDoesNotComeBackInAnOlderVersion) {
  for (const bool by_key : {false, true}) {
    put("p", "stays", 0);
    for (const int number : {1, 2, 3}) {
      put("p", "r", number);
      finish(archive(GetParam()));
    }
    const auto job =
        submit(unarchive(GetParam(), by_key ? R"("partitionKey":"p","rowKey":"r")" : R"("filter":"Number eq 3")"));
    EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
    EXPECT_EQ(record(job.id).done, 1U);
    EXPECT_EQ(number_of(in_table().at({"p", "r"})), 3);
    ASSERT_TRUE(run(tables_.mutate("Source", "p", {jobs::erasure_of("r", {})}, std::nullopt)).has_value());
    EXPECT_EQ(finish(unarchive(GetParam())).done, 1U);
    EXPECT_EQ(in_table().count({"p", "r"}), 0U) << "its owner has deleted it";
    EXPECT_EQ(in_table().count({"p", "stays"}), 1U);
  }
}

TEST_P(WorkersObjectsForms, OlderVersionsGoBeforeTheNewestIsBack) {
  put("p", "r", 1);
  finish(archive(GetParam()));
  put("p", "r", 2);
  finish(archive(GetParam()));
  submit(unarchive(GetParam(), R"("filter":"Number eq 2")"));
  // The job dies with its first change of the table.
  table_link_.before = [&](std::string method) -> Task<Result<void>> {
    const bool last = method == "table.mutate" && archived_versions() == 1;
    if (last) co_return fail(ErrorCode::kUnavailable);
    co_return Result<void>{};
  };
  EXPECT_EQ(work_next().end, RunEnd::kRetried);
  table_link_.before = nullptr;
  EXPECT_EQ(number_of(archived().at({"p", "r"})), 2) << "once";
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  EXPECT_EQ(number_of(in_table().at({"p", "r"})), 2);
  EXPECT_TRUE(names().empty());
}

TEST_P(WorkersObjectsForms, RestoringWhatIsNotThereIsPoison) {
  const bool directory = std::string_view(GetParam()).contains("directory");
  const auto problems = [&](const std::string& text) {
    auto planned = run(jobs::plan_job({jobs_, poison_, tables_, {&blobs_, directories_}}, *jobs::parse_job_spec(text)));
    EXPECT_TRUE(planned.has_value());
    return planned && !planned->problems.empty() ? planned->problems.front() : std::string();
  };
  const auto nothing = directory ? "Nothing was ever archived" : "does not exist";
  for (const auto* selection : {R"("filter":"")", R"("partitionKey":"p","rowKey":"r")"}) {
    EXPECT_NE(problems(unarchive(GetParam(), selection)).find(nothing), std::string::npos);
    EXPECT_NE(poisoned(unarchive(GetParam(), selection)).find(nothing), std::string::npos);
  }
  const bool lines = std::string_view(GetParam()).contains("lines");
  const std::string root = directory ? R"({"directory":"nas")" : R"({"container":"old")";
  const auto other = root + (lines ? "}" : R"(,"format":"lines"})");
  const std::string here = root + (lines ? R"(,"format":"lines"})" : "}");
  put("p", "r", 1);
  finish(archive(other));
  const auto hint = lines ? "format entity" : "format lines";
  EXPECT_NE(problems(unarchive(here)).find(hint), std::string::npos);
  EXPECT_NE(poisoned(unarchive(here)).find(hint), std::string::npos);
  EXPECT_EQ(problems(unarchive(other)), "");
  EXPECT_EQ(finish(unarchive(other)).done, 1U);
}

TEST_F(WorkersObjects, ABlobStoreThatIsDownIsWaitedFor) {
  put("p", "r", 1);
  submit(archive(kParts));
  blob_link_.before = [](std::string) -> Task<Result<void>> { co_return fail(ErrorCode::kUnavailable); };
  EXPECT_EQ(work_next().end, RunEnd::kRetried);
  EXPECT_EQ(in_table().size(), 1U);
  blob_link_.before = nullptr;
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  EXPECT_EQ(archived().size(), 1U);
}

TEST_P(WorkersObjectsForms, MaxAffectedGuardsTheArchiveToo) {
  fill(5);
  finish(archive(GetParam()));
  const auto job = submit(unarchive(GetParam(), R"("filter":"","maxAffected":4)"));
  EXPECT_EQ(work_next().end, RunEnd::kPoisoned);
  EXPECT_EQ(archived().size(), 5U);
}

TEST_F(WorkersObjects, WhatSomebodyElsePutThereStays) {
  put("p", "r", 1);
  put("p", "s", 2);
  ASSERT_TRUE(run(blobs_.ensure_container("old")).has_value());
  const auto foreign = [&](std::string name) {
    const blob_store::BlobRef ref{kAccount, "old", std::move(name)};
    auto writer = blob_service_.new_payload(ref);
    ASSERT_TRUE(run(writer.append("mine")).has_value());
    auto payload = run(writer.finish());
    ASSERT_TRUE(payload.has_value());
    ASSERT_TRUE(run(blob_service_.put_blob(ref, {}, *payload, {})).has_value());
  };
  foreign("x/source/p/r.json");
  foreign("x/source/p/zz.json");
  const auto job = finish(archive(kDocuments));
  EXPECT_EQ(job.done, 1U);
  EXPECT_EQ(job.skipped, 1U);
  EXPECT_EQ(in_table().count({"p", "r"}), 1U);
  const auto back = finish(unarchive(kDocuments));
  EXPECT_EQ(back.done, 1U);
  EXPECT_EQ(back.skipped, 2U);
  EXPECT_EQ(bytes_of("x/source/p/r.json"), "mine");
}

class WorkersObjectsNeighbours : public WorkersObjects, public ::testing::WithParamInterface<const char*> {};
INSTANTIATE_TEST_SUITE_P(Stores, WorkersObjectsNeighbours,
                         ::testing::Values(R"("container":"old")", R"("container":"old","format":"lines")",
                                           R"("directory":"nas")", R"("directory":"nas","format":"lines")"));

TEST_P(WorkersObjectsNeighbours, AnArchiveBelowAnothersRootIsNotTakenForIt) {
  ASSERT_TRUE(run(tables_.create_table("Other")).has_value());
  const std::string store = GetParam();
  const auto move = [&](const std::string& kind, const std::string& table, const std::string& place) {
    const auto archive = "{" + store + place + "}";
    const bool back = kind == "unarchive";
    return finish(R"({"kind":")" + kind + R"(","filter":"",")" + (back ? "destination" : "source") + R"(":")" + table +
                  R"(",")" + (back ? "source" : "destination") + R"(":)" + archive + "}");
  };
  for (int i = 0; i < 12; ++i) put("p", std::to_string(100 + i), i);
  // Newer entities, under some of the same keys.
  EXPECT_EQ(move("archive", "Source", "").done, 12U);
  for (int i = 9; i < 14; ++i) put("p", std::to_string(100 + i), -i, "Other");
  EXPECT_EQ(move("archive", "Other", R"(,"prefix":"source/")").done, 5U);
  const auto back = move("unarchive", "Source", "");
  EXPECT_EQ(back.done, 12U);
  EXPECT_EQ(back.skipped, 0U);
  for (const auto& [key, entity] : in_table()) EXPECT_GE(number_of(entity), 0) << key.second;
  EXPECT_EQ(in_table().size(), 12U);
  EXPECT_EQ(move("unarchive", "Other", R"(,"prefix":"source/")").done, 5U);
  EXPECT_EQ(in_table("Other").size(), 5U);
}

TEST_F(WorkersObjects, AnObjectThatNamesAnotherArchiveStays) {
  put("p", "r", 1);
  finish(archive(kDocuments));
  const auto text = bytes_of("x/source/p/r.json");
  EXPECT_NE(text.find(R"("tidemark.archive":"x/source/")"), std::string::npos);
  const auto version = table_store::parse_entity_text(text)->version;
  // A user has put the document under the name of another archive, with everything that makes it look like a job's.
  ASSERT_TRUE(run(blobs_.put("old", "z/source/p/r.json", {}, text, {{"copier", 1, ""}, version, {}})).has_value());
  const auto back = finish(unarchive(R"({"container":"old","prefix":"z/"})"));
  EXPECT_EQ(back.done, 0U);
  EXPECT_EQ(back.skipped, 1U);
  // A document that names no table was written by an earlier version: its name alone tells where it belongs.
  auto entity = *table_store::parse_entity_text(text);
  std::string unmarked;
  table_store::append_entity_text(unmarked, entity);
  ASSERT_TRUE(run(blobs_.put("old", "w/source/p/r.json", {}, unmarked, {{"copier", 1, ""}, version, {}})).has_value());
  EXPECT_EQ(finish(unarchive(R"({"container":"old","prefix":"w/"})")).done, 1U);
}

TEST_F(WorkersObjects, ABatchIsOneDurablePartPerGroup) {
  for (int i = 0; i < 2500; ++i) put("p" + std::to_string(i / 1250), std::to_string(10'000 + i), i);
  finish(archive(kParts));
  EXPECT_EQ(names().size(), 2U) << "pages of a table are gathered";
  EXPECT_EQ(archived().size(), 2500U);
  EXPECT_EQ(finish(unarchive(kParts, R"("filter":"PartitionKey eq 'p1'")")).done, 1250U);
  EXPECT_EQ(names().size(), 1U);
}

TEST_F(WorkersObjects, APartLargerThanAMessageIsStagedAndPublished) {
  std::string noise;
  auto random = make_seeded_random(3);
  for (int i = 0; i < 30'000; ++i) noise += static_cast<char>('!' + random->below(90));
  for (int i = 0; i < 200; ++i) {
    Mutation mutation;
    mutation.kind = MutationKind::kInsertOrReplace;
    mutation.row_key = std::to_string(i);
    mutation.properties = {{"Text", noise + std::to_string(i)}};
    ASSERT_TRUE(run(tables_.mutate("Source", "p", {mutation}, std::nullopt)).has_value());
  }
  finish(archive(kDays));
  ASSERT_EQ(names().size(), 1U);
  EXPECT_TRUE(in_table().empty());
  EXPECT_EQ(finish(unarchive(kDays)).done, 200U);
  EXPECT_EQ(std::get<std::string>(*in_table().at({"p", "99"}).find("Text")), noise + "99");
}

}  // namespace
}  // namespace tidemark::workers
