// Archives outside of tables, end to end: the stores' services on memory engines, reached over loopbacks that lose
// requests and answers. What is in the archive is read back with the blob client.
#include <unistd.h>

#include <filesystem>
#include <map>

#include "jobs/kinds/archive/archive_text.h"
#include "jobs/kinds/archive/object_names.h"
#include "jobs/objects/file_objects.h"
#include "jobs/plan/plan.h"
#include "table_store/odata/entity_text.h"
#include "tests/support/seeded_random.h"
#include "workers_fixture.h"

namespace tidemark::workers {
namespace {

constexpr const char* kDocuments = R"({"container":"old","prefix":"x/"})";
constexpr const char* kParts = R"({"container":"old","format":"lines","gzip":true})";
constexpr const char* kDays = R"({"container":"old","format":"lines","per":"day"})";

constexpr const char* kDocumentFiles = R"({"directory":"nas","prefix":"y/"})";
constexpr const char* kPartFiles = R"({"directory":"nas","format":"lines","per":"month","gzip":true})";

class WorkersObjects : public WorkersFixture {
 protected:
  using Key = std::pair<std::string, std::string>;

  static std::string archive(const std::string& place, const std::string& selection = R"("filter":"")") {
    return R"({"kind":"archive","source":"Source",)" + selection + R"(,"maxAttempts":50,"destination":)" + place + "}";
  }
  static std::string unarchive(const std::string& place, const std::string& selection = R"("filter":"")") {
    return R"({"kind":"unarchive","destination":"Source",)" + selection + R"(,"maxAttempts":50,"source":)" + place +
           "}";
  }
  std::string bytes_of(const std::string& name) {
    auto piece = run(blobs_.read("old", name, 0, {}));
    EXPECT_TRUE(piece && *piece) << name;
    return piece && *piece ? (*piece)->bytes : "";
  }
  std::vector<std::string> names() {
    std::vector<std::string> out;
    for (const auto& [name, bytes] : contents()) out.push_back(name);
    return out;
  }
  /// Of the container and of the directory, once what the dead left there is collected.
  std::map<std::string, std::string> contents() {
    std::map<std::string, std::string> out;
    auto listed = run(blobs_.list("old", "", ""));
    if (listed) {
      for (const auto& name : listed->names) out[name] = bytes_of(name);
    }
    EXPECT_TRUE(run(jobs::collect_files(tables_, directories_.front())).has_value());
    const auto files = directories_.front().tree->walk(10'000);
    EXPECT_TRUE(files.has_value());
    for (const auto& found : *files) {
      EXPECT_FALSE(found.temporary) << found.path;
      if (!found.temporary) out[found.path] = directories_.front().tree->read(found.path, 1 << 26)->value_or("");
    }
    return out;
  }
  bool anything_archived_now() {
    auto page = blob_service_.list_blobs({kAccount, "old"}, {});
    return (page && !page->items.empty()) || !directories_.front().tree->walk(10)->empty();
  }
  void SetUp() override {
    WorkersFixture::SetUp();
    directory_ = std::filesystem::temp_directory_path() / ("tidemark-files-" + make_system_random()->guid());
    std::filesystem::create_directory(directory_);
    auto opened = jobs::open_directories("nas=" + directory_.string(), io_.get_executor());
    ASSERT_TRUE(opened.has_value());
    directories_ = std::move(*opened);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  /// Every archived entity; a key that is there twice is a failure.
  std::map<Key, Entity> archived() {
    std::map<Key, Entity> out;
    for (const auto& [name, bytes] : contents()) {
      std::vector<Entity> entities;
      if (jobs::is_document_name(name)) {
        auto entity = table_store::parse_entity_text(bytes);
        EXPECT_TRUE(entity.has_value());
        if (entity) entities.push_back(std::move(*entity));
      } else {
        auto read = jobs::entities_of_part(bytes);
        EXPECT_TRUE(read.has_value());
        if (read) entities = std::move(*read);
      }
      for (auto& entity : entities) {
        const Key key{entity.partition_key, entity.row_key};
        EXPECT_TRUE(out.emplace(key, std::move(entity)).second) << key.first << "/" << key.second << " twice";
      }
    }
    return out;
  }
  std::map<Key, Entity> in_table(const std::string& table = "Source") {
    std::map<Key, Entity> out;
    for (auto& entity : all(table)) out.emplace(Key{entity.partition_key, entity.row_key}, entity);
    return out;
  }
  std::filesystem::path directory_;
  static std::int32_t number_of(const Entity& entity) { return std::get<std::int32_t>(*entity.find("Number")); }
  void fill(int count) {
    for (int i = 0; i < count; ++i) put("p" + std::to_string(i % 3), "r" + std::to_string(i), i);
  }
  /// The job is cancelled while its first call of the method (given something archived, if it is of the table store) is
  /// on its way. `work_next()` after this delivers it.
  void cancel_at_first(const std::string& method, const std::string& id) {
    auto cancelled = std::make_shared<bool>(false);
    const auto hook = [this, method, id, cancelled](std::string called) {
      const bool now = !*cancelled && called == method && (method != "table.mutate" || anything_archived_now());
      *cancelled = *cancelled || now;
      return now ? cancel(id) : pass();
    };
    table_link_.before = blob_link_.before = hook;
  }
  static Task<Result<void>> pass() { co_return Result<void>{}; }
  Task<Result<void>> cancel(std::string id) {
    auto done = co_await jobs_.cancel(std::move(id));
    EXPECT_TRUE(done.has_value());
    co_return Result<void>{};
  }
};

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
  // A process that reaches nothing of it says so.
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
    // The first mutation after something is there is the removal; a file's own row comes before.
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
        // What the round before left in the archive: a key that is archived again would be in two parts.
        finish(unarchive(GetParam()));
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
    auto writer = blob_service_.new_payload();
    ASSERT_TRUE(run(writer.append("mine")).has_value());
    auto payload = run(writer.finish());
    ASSERT_TRUE(payload.has_value());
    ASSERT_TRUE(run(blob_service_.put_blob({kAccount, "old", std::move(name)}, {}, *payload, {})).has_value());
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
  const auto& tree = *directories_.front().tree;
  const std::string job = "7fffffffffffffff-00000000";
  ASSERT_TRUE(run(tables_.open_operation(job, 2, 0)).has_value());
  ASSERT_TRUE(tree.write("a/x@1-" + job + "-1.json", job + "-1-00", "dead").has_value());
  ASSERT_TRUE(tree.write("a/x@1-" + job + "-2.json", job + "-2-00", "alive").has_value());
  ASSERT_TRUE(tree.write("a/readme.txt", "t", "a stranger's").has_value());
  EXPECT_EQ(run(jobs::collect_files(tables_, directories_.front())).value(), 1U);
  EXPECT_EQ(tree.read("a/x@1-" + job + "-2.json", 100)->value_or(""), "alive");
  EXPECT_EQ(tree.read("a/readme.txt", 100)->value_or(""), "a stranger's");
  ASSERT_TRUE(run(tables_.close_operation(job, 2, 0)).has_value());
  EXPECT_EQ(run(jobs::collect_files(tables_, directories_.front())).value(), 1U);
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

}  // namespace
}  // namespace tidemark::workers
