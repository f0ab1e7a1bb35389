// Archives in directories: their catalog, its rebuilding, foreign files, and collection.
#include <fstream>
#include <unistd.h>

#include "jobs/plan/plan.h"
#include "jobs/store/rows.h"
#include "workers_objects_fixture.h"

namespace tidemark::workers {
namespace {

TEST_F(WorkersObjects, AdoptingMakesALostCatalogAgain) {
  fill(20);
  const auto before = in_table();
  finish(archive(kDocumentFiles, R"("filter":"Number lt 10")"));
  finish(archive(kPartFiles));
  ASSERT_TRUE(run(tables_.delete_table("TidemarkFiles")).has_value());
  std::ofstream(directory_ / "readme.txt") << "a stranger's";
  std::filesystem::create_directories(directory_ / "y/source/p");
  std::ofstream(directory_ / "y/source/p/r@1-7fffffffffffffff-00000000-1.json") << "{}";
  const auto huge = directory_ / "y/source/p/r@2-7fffffffffffffff-00000000-1.json";
  std::ofstream(huge) << "{";
  std::filesystem::resize_file(huge, jobs::kMaxFileBytes + 1);
  const std::string adopt = R"({"kind":"adopt","directory":"nas"})";
  EXPECT_NE(poisoned(adopt).find("takeOver"), std::string::npos);
  auto planned = run(jobs::plan_job({jobs_, poison_, tables_, {&blobs_, directories_}}, *jobs::parse_job_spec(adopt)));
  ASSERT_TRUE(planned.has_value());
  EXPECT_EQ(planned->problems.size(), 1U);
  const auto job = finish(R"({"kind":"adopt","directory":"nas","takeOver":true})");
  EXPECT_EQ(job.done, 11U) << "ten documents and a part of the month";
  EXPECT_EQ(job.skipped, 2U);
  EXPECT_EQ(collect(std::chrono::hours(1000)).quarantined, 0U);
  EXPECT_EQ(finish(unarchive(kDocumentFiles)).done, 10U);
  EXPECT_EQ(finish(unarchive(kPartFiles)).done, 10U);
  const auto after = in_table();
  ASSERT_EQ(after.size(), 20U);
  for (const auto& [key, entity] : after) EXPECT_EQ(number_of(entity), number_of(before.at(key)));
  EXPECT_EQ(finish(adopt).done, 0U) << "what was restored does not come back";
}

TEST_F(WorkersObjects, AdoptingSurvivesALossAnywhere) {
  survives_a_loss_anywhere(
      R"({"kind":"adopt","directory":"nas","takeOver":true,"maxAttempts":50})",
      [&] {
        if (anything_archived_now()) finish(unarchive(kDocumentFiles));
        fill(3);
        finish(archive(kDocumentFiles));
        ASSERT_TRUE(run(tables_.delete_table("TidemarkFiles")).has_value());
      },
      [&](const jobs::JobRecord& job) {
        EXPECT_EQ(job.done, 3U);
        EXPECT_EQ(archived().size(), 3U);
        EXPECT_EQ(run(jobs::FileOwner(tables_, directories_.front()).look())->whose, jobs::Ownership::kOurs);
      });
}

TEST_F(WorkersObjects, AdoptingEntersTheNewestVersionAndWhatIsInQuarantine) {
  put("p", "r", 1);
  finish(archive(kDocumentFiles));
  const auto old_file = files().front();
  const auto old_bytes = *tree().read(old_file, 1000);
  put("p", "r", 2);
  finish(archive(kDocumentFiles));
  // The previous version, as if the worker had died before it removed its file.
  ASSERT_TRUE(tree().write(old_file, "t", *old_bytes).has_value());
  put("p", "s", 3);
  finish(archive(kDocumentFiles, R"("partitionKey":"p","rowKey":"s")"));
  const auto all_files = files();
  const auto file = *std::ranges::find_if(all_files, [](const auto& path) { return path.contains("/s@"); });
  ASSERT_TRUE(tree().quarantine(file, clock_->now()).has_value());
  ASSERT_TRUE(run(tables_.delete_table("TidemarkFiles")).has_value());
  finish(R"({"kind":"adopt","directory":"nas","takeOver":true})");
  EXPECT_EQ(archived().size(), 2U);
  EXPECT_EQ(finish(unarchive(kDocumentFiles)).done, 2U);
  EXPECT_EQ(number_of(in_table().at({"p", "r"})), 2);
}

TEST_F(WorkersObjects, AdoptingADirectoryThatIsOursEntersOnlyWhatIsUnknown) {
  fill(2);
  finish(archive(kDocumentFiles));
  const auto rows = all("TidemarkFiles");
  const auto drop = [&](const std::string& row) {
    ASSERT_TRUE(run(tables_.mutate("TidemarkFiles", "nas", {jobs::erasure_of(row, {})}, {})).has_value());
  };
  for (const auto& row : rows) {
    if (row.partition_key == "nas") drop(row.row_key);
  }
  const std::string adopt = R"({"kind":"adopt","directory":"nas"})";
  EXPECT_EQ(finish(adopt).done, 0U) << "this table store knows the job, so its rows are right";
  // As after a restore of the table store from a backup.
  const auto job = jobs::parse_file_path(files().front())->writer.job;
  ASSERT_TRUE(run(tables_.forget_operation(job)).has_value());
  EXPECT_EQ(finish(adopt).done, 2U);
  EXPECT_EQ(finish(unarchive(kDocumentFiles)).done, 2U);
}

TEST_F(WorkersObjects, ADirectoryThatTheOperatorDoesNotAllowIsRefused) {
  put("p", "r", 1);
  submit(archive(R"({"directory":"elsewhere"})"));
  EXPECT_EQ(work_next().end, RunEnd::kPoisoned);
  EXPECT_EQ(in_table().size(), 1U);
}

TEST_F(WorkersObjects, ASymbolicLinkInTheDirectoryIsNotFollowed) {
  const auto outside = directory_.string() + "-outside";
  std::filesystem::create_directory(outside);
  std::filesystem::create_directory_symlink(outside, directory_ / "y");
  put("p", "r", 1);
  submit(archive(kDocumentFiles));
  EXPECT_NE(work_next().end, RunEnd::kSucceeded);
  EXPECT_TRUE(std::filesystem::is_empty(outside));
  EXPECT_EQ(in_table().size(), 1U);
  std::filesystem::remove_all(outside);
}

TEST_F(WorkersObjects, FilesOfTheLivingAndOfStrangersAreNotCollected) {
  put("p", "r", 1);
  finish(archive(kDocumentFiles));
  const std::string job = "7fffffffffffffff-00000000";
  const std::string unknown = "7fffffffffffffff-11111111";
  ASSERT_TRUE(run(tables_.open_operation(job, 2, 0)).has_value());
  ASSERT_TRUE(tree().write("a/x@1-" + job + "-1.json", job + "-1-00", "dead").has_value());
  ASSERT_TRUE(tree().write("a/x@1-" + job + "-2.json", job + "-2-00", "alive").has_value());
  ASSERT_TRUE(tree().write("a/x@1-" + unknown + "-1.json", unknown + "-1-00", "unknown").has_value());
  ASSERT_TRUE(tree().write("a/readme.txt", "t", "a stranger's").has_value());
  EXPECT_EQ(collect().quarantined, 1U);
  EXPECT_EQ(tree().read("a/x@1-" + job + "-2.json", 100)->value_or(""), "alive");
  EXPECT_EQ(tree().read("a/readme.txt", 100)->value_or(""), "a stranger's");
  ASSERT_TRUE(run(tables_.close_operation(job, 2, 0)).has_value());
  EXPECT_EQ(collect().quarantined, 1U);
  EXPECT_EQ(tree().read("a/x@1-" + unknown + "-1.json", 100)->value_or(""), "unknown");
  EXPECT_EQ(files().size(), 3U);
}

TEST_F(WorkersObjects, AFileGoesByWayOfTheQuarantineAndComesBackWithItsRow) {
  using namespace std::chrono_literals;
  put("p", "r", 1);
  finish(archive(kDocumentFiles));
  const auto kept = files();
  ASSERT_EQ(kept.size(), 1U);
  const auto row = all("TidemarkFiles").back();
  ASSERT_EQ(row.partition_key, "nas");
  const auto drop_row = [&] {
    ASSERT_TRUE(run(tables_.mutate("TidemarkFiles", "nas", {jobs::erasure_of(row.row_key, {})}, {})).has_value());
  };
  const auto bring_row_back = [&] {
    ASSERT_TRUE(
        run(tables_.mutate("TidemarkFiles", "nas", {jobs::write_of(row.row_key, {}, row.properties)}, {})).has_value());
  };
  drop_row();
  EXPECT_EQ(collect(59min, 1h).quarantined, 0U) << "too young";
  EXPECT_EQ(collect(61min, 1h).quarantined, 1U);
  EXPECT_TRUE(files().empty());
  EXPECT_EQ(files(Area::kQuarantine), kept);
  EXPECT_EQ(collect(24h).removed, 0U);
  bring_row_back();
  EXPECT_EQ(collect(48h).put_back, 1U);
  EXPECT_EQ(files(), kept);
  drop_row();
  EXPECT_EQ(collect(48h).quarantined, 1U);
  bring_row_back();
  EXPECT_EQ(finish(unarchive(kDocumentFiles)).done, 1U) << "a reader does not wait for the collector";
  EXPECT_TRUE(files(Area::kQuarantine).empty());
  finish(archive(kDocumentFiles));
  ASSERT_TRUE(run(tables_.mutate("TidemarkFiles", "nas", {jobs::erasure_of(row.row_key, {})}, {})).has_value());
  EXPECT_EQ(collect(1h).quarantined, 1U);
  EXPECT_EQ(collect(26h).removed, 1U);
  EXPECT_TRUE(files(Area::kQuarantine).empty());
}

TEST_F(WorkersObjects, ADroppedCatalogCostsNoFile) {
  fill(5);
  finish(archive(kDocumentFiles));
  const auto kept = files();
  ASSERT_EQ(kept.size(), 5U);
  ASSERT_TRUE(run(tables_.delete_table("TidemarkFiles")).has_value());
  EXPECT_EQ(collect(std::chrono::hours(1000)).quarantined, 0U);
  fill(1);
  EXPECT_NE(poisoned(archive(kDocumentFiles)).find("adopt"), std::string::npos);
  EXPECT_EQ(in_table().size(), 1U);
  EXPECT_NE(poisoned(unarchive(kDocumentFiles)).find("TidemarkFiles"), std::string::npos);
  ASSERT_TRUE(run(tables_.create_table("TidemarkFiles")).has_value());
  EXPECT_EQ(collect(std::chrono::hours(1000)).quarantined, 0U);
  EXPECT_EQ(files(), kept);
}

TEST_F(WorkersObjects, ACatalogThatIsDroppedUnderAJobStopsIt) {
  fill(6);
  submit(archive(kDocumentFiles));
  bool dropped = false;
  table_link_.before = [&](std::string method) -> Task<Result<void>> {
    if (dropped || method != "table.mutate" || files().size() < 3) co_return Result<void>{};
    dropped = true;
    EXPECT_TRUE((co_await table_service_.delete_table(kAccount, "TidemarkFiles")).has_value());
    co_return Result<void>{};
  };
  EXPECT_EQ(work_next().end, RunEnd::kPoisoned);
  table_link_.before = nullptr;
  EXPECT_TRUE(dropped);
  collect(std::chrono::hours(1000));
  EXPECT_GE(files().size() + in_table().size(), 6U);
}

TEST_F(WorkersObjects, TwoStacksDoNotShareADirectory) {
  fill(3);
  finish(archive(kDocumentFiles));
  const auto kept = files();
  const auto other_engine = kv::make_memory_engine();
  table_store::TableService other_service(*other_engine, *clock_, *random_);
  Loopback other_link{table_store::make_table_dispatch(other_service)};
  table_store::TableClient other(other_link, kAccount);
  const auto& nas = directories_.front();
  const jobs::CollectionRules rules{clock_->now() + std::chrono::hours(1000), {}, {}};
  for (int pass = 0; pass < 2; ++pass) {
    const auto collected = run(jobs::collect_files(other, nas, rules));
    ASSERT_TRUE(collected.has_value());
    EXPECT_EQ(collected->quarantined + collected->removed, 0U);
    EXPECT_EQ(run(jobs::FileOwner(other, nas).look())->whose, jobs::Ownership::kStrange);
    EXPECT_TRUE(run(jobs::FileOwner(other, nas).claim()).failed_with(ErrorCode::kJobInvalid));
  }
  EXPECT_EQ(files(), kept);
  // Nor may one stack have two names.
  auto renamed = nas;
  renamed.name = "other";
  EXPECT_EQ(run(jobs::FileOwner(tables_, renamed).look())->whose, jobs::Ownership::kStrange);
  EXPECT_EQ(finish(unarchive(kDocumentFiles)).done, 3U);
}

TEST_F(WorkersObjects, ADirectoryWithoutItsStampIsNotMounted) {
  fill(3);
  finish(archive(kDocumentFiles));
  const auto away = directory_.string() + "-away";
  std::filesystem::create_directory(away);
  for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
    std::filesystem::rename(entry.path(), away / entry.path().filename());
  }
  EXPECT_NE(poisoned(unarchive(kDocumentFiles)).find("mounted"), std::string::npos);
  fill(1);
  EXPECT_NE(poisoned(archive(kDocumentFiles)).find("mounted"), std::string::npos);
  EXPECT_EQ(in_table().size(), 1U);
  for (const auto& entry : std::filesystem::directory_iterator(directory_)) std::filesystem::remove_all(entry.path());
  for (const auto& entry : std::filesystem::directory_iterator(away)) {
    std::filesystem::rename(entry.path(), directory_ / entry.path().filename());
  }
  std::filesystem::remove_all(away);
  EXPECT_EQ(finish(archive(kDocumentFiles)).done, 1U);
}

TEST_F(WorkersObjects, ADirectoryOfTheVersionBeforeIsStampedWhenItIsUsed) {
  fill(3);
  finish(archive(kDocumentFiles));
  ASSERT_TRUE(run(tables_.mutate("TidemarkFiles", ".owner", {jobs::erasure_of("nas", {})}, {})).has_value());
  std::filesystem::remove(directory_ / ".tidemark" / "owner.json");
  const auto spec = jobs::parse_job_spec(unarchive(kDocumentFiles));
  EXPECT_EQ(run(jobs::plan_job({jobs_, poison_, tables_, {&blobs_, directories_}}, *spec))->keys, 3U);
  EXPECT_FALSE(std::filesystem::exists(directory_ / ".tidemark" / "owner.json")) << "a plan changes nothing";
  EXPECT_EQ(finish(unarchive(kDocumentFiles, R"("filter":"Number eq 1")")).done, 1U);
  EXPECT_TRUE(std::filesystem::exists(directory_ / ".tidemark" / "owner.json"));
  EXPECT_EQ(finish(unarchive(kDocumentFiles)).done, 2U);
}

TEST_F(WorkersObjects, ARowThatAUserWroteChoosesNoFile) {
  put("p", "victim", 1);
  put("p", "other", 2);
  finish(archive(kDocumentFiles));
  const auto rows = all("TidemarkFiles");
  const auto victim = std::ranges::find_if(rows, [](const auto& row) { return row.row_key.contains("victim"); });
  ASSERT_NE(victim, rows.end());
  const auto secret = directory_.string() + "-secret";
  for (const auto& path :
       {std::get<std::string>(*victim->find("File")), "../" + std::filesystem::path(secret).filename().string(),
        std::string("y/source/p/other.json"), std::string()}) {
    auto properties = victim->properties;
    for (auto& property : properties) {
      if (property.name == "File") property.value = path;
    }
    const std::string key = "y source p forged.json";
    auto forged = jobs::write_of(key, {}, std::move(properties));
    forged.kind = MutationKind::kInsertOrReplace;
    forged.lenient = false;
    ASSERT_TRUE(run(tables_.mutate("TidemarkFiles", "nas", {forged}, {})).has_value());
    put("p", "forged", 3);
    const auto there = finish(archive(kDocumentFiles));
    EXPECT_EQ(there.skipped, 1U) << path;
    EXPECT_EQ(files().size(), 2U) << path;
    const auto back = finish(unarchive(kDocumentFiles, R"("partitionKey":"p","rowKey":"forged")"));
    EXPECT_EQ(back.done, 0U) << path;
  }
  EXPECT_EQ(collect(std::chrono::hours(1000)).quarantined, 0U);
  EXPECT_EQ(finish(unarchive(kDocumentFiles)).done, 2U);
  EXPECT_EQ(number_of(in_table().at({"p", "victim"})), 1);
}

TEST_F(WorkersObjects, TheCollectorGoesThroughAnyNumberOfFiles) {
  put("p", "r", 1);
  finish(archive(kDocumentFiles));
  const std::string job = "7fffffffffffffff-00000000";
  ASSERT_TRUE(run(tables_.open_operation(job, 1, 0)).has_value());
  ASSERT_TRUE(run(tables_.close_operation(job, 1, 0)).has_value());
  for (int i = 0; i < 2500; ++i) {
    const auto name = "a/" + std::to_string(i % 7) + "/" + std::to_string(i) + "@1-" + job + "-1.json";
    std::filesystem::create_directories((directory_ / name).parent_path());
    std::ofstream(directory_ / name) << "orphan";
  }
  EXPECT_EQ(collect().quarantined, 2500U);
  EXPECT_EQ(collect(std::chrono::hours(25)).removed, 2500U);
  EXPECT_EQ(files().size(), 1U);
}

TEST(FileNames, SayEverythingAndNothingElseIsAName) {
  const std::string job = "7fffffffffffffff-0123abcd";
  const jobs::FileName name{"a/b/c.jsonl.gz", 17, {job, 3}};
  EXPECT_EQ(jobs::file_path(name), "a/b/c@17-" + job + "-3.jsonl.gz");
  EXPECT_EQ(jobs::parse_file_path(jobs::file_path(name)), name);
  EXPECT_EQ(jobs::parse_temporary_name(jobs::temporary_name(name)), name.writer);
  for (const auto& path :
       {std::string(), std::string("a/b.json"), "a/b@17-" + job + ".json", "a/b@017-" + job + "-3.json",
        "a/b@17-" + job + "-03.json", "a/../b@17-" + job + "-3.json", "/a/b@17-" + job + "-3.json",
        "a/b@x-" + job + "-3.json", "a/b@17-" + job + "x-3.json", ".a/b@17-" + job + "-3.json"}) {
    EXPECT_FALSE(jobs::parse_file_path(path).has_value()) << path;
  }
}

TEST(FileTree, MakesDirectoriesAgainThatSomebodyRemoved) {
  const auto root = std::filesystem::temp_directory_path() / ("file_tree_" + std::to_string(::getpid()));
  std::filesystem::create_directory(root);
  const auto tree = jobs::FileTree::open(root.string());
  ASSERT_TRUE(tree.has_value());
  for (const auto* text : {"one", "two"}) {
    ASSERT_TRUE((*tree)->write("a/b/c.json", "temporary", text).has_value()) << text;
    EXPECT_EQ((*tree)->read("a/b/c.json", 100)->value_or(""), text);
    std::filesystem::remove_all(root / "a");
    EXPECT_FALSE((*tree)->read("a/b/c.json", 100)->has_value());
  }
  std::filesystem::remove_all(root);
}

TEST(FileTree, PathsLeadNowhereElse) {
  for (const auto* path : {"", "/", "a/", "/a", "a//b", ".", "..", "a/../b", "a/.b", "a b", "a\n"}) {
    EXPECT_FALSE(jobs::is_tree_path(path)) << path;
  }
  EXPECT_TRUE(jobs::is_tree_path("a/b%20c/~@1-2.jsonl.gz"));
  EXPECT_FALSE(jobs::open_directories("nas", {}).has_value());
  EXPECT_FALSE(jobs::open_directories("nas=/no/such/directory", {}).has_value());
  EXPECT_FALSE(jobs::open_directories("a=/tmp,a=/tmp", {}).has_value());
  EXPECT_EQ(jobs::open_directories("a=/tmp,b=/", {})->size(), 2U);
  EXPECT_TRUE(jobs::open_directories("", {})->empty());
}

TEST_F(WorkersObjects, OneThatIsDamagedIsSkippedAndTheOthersComeBack) {
  for (int i = 0; i < 4; ++i) put("p", "r" + std::to_string(i), i);
  finish(archive(kDocumentFiles));
  const auto paths = files();
  ASSERT_EQ(paths.size(), 4U);
  std::filesystem::remove(directory_ / paths[0]);
  std::ofstream(directory_ / paths[1]) << "{";
  auto text = tree().read(paths[2], 1 << 20)->value();
  std::ofstream(directory_ / paths[2]) << text.insert(1, "\"no-name\":1,");
  const auto job = finish(unarchive(kDocumentFiles));
  EXPECT_EQ(job.done, 1U);
  EXPECT_EQ(job.skipped, 3U) << job.skips;
}

}  // namespace
}  // namespace tidemark::workers
