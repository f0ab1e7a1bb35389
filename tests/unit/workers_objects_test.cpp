// Archives outside of tables, end to end: the stores' services on memory engines, reached over loopbacks that lose
// requests and answers. What is in the archive is read back with the blob client.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "jobs/kinds/archive/archive_text.h"
#include "jobs/kinds/archive/object_names.h"
#include "jobs/objects/file_collector.h"
#include "jobs/objects/file_objects.h"
#include "jobs/plan/plan.h"
#include "jobs/store/rows.h"
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
    collect();
    EXPECT_EQ(files(Area::kTemporary), std::vector<std::string>());
    for (const auto& path : files()) out[path] = tree().read(path, 1 << 26)->value_or("");
    return out;
  }
  using Area = jobs::FileTree::Area;
  const jobs::FileTree& tree() { return *directories_.front().tree; }
  /// Below the directory, in order.
  std::vector<std::string> files(Area area = Area::kArchive) {
    std::vector<std::string> out;
    const auto walk = tree().walk(area);
    EXPECT_TRUE(walk.has_value());
    while (true) {
      const auto some = (*walk)->next(10'000);
      EXPECT_TRUE(some.has_value());
      if (!some || some->empty()) break;
      for (const auto& found : *some) {
        if (found.path != "owner.json") out.push_back(found.path);
      }
    }
    std::sort(out.begin(), out.end());
    return out;
  }
  /// As a worker does from time to time, `later`.
  jobs::CollectedFiles collect(Duration later = {}, Duration grace = {}, Duration quarantine = std::chrono::hours(24)) {
    auto done = run(jobs::collect_files(tables_, directories_.front(), {clock_->now() + later, grace, quarantine}));
    EXPECT_TRUE(done.has_value());
    return done.value_or(jobs::CollectedFiles{});
  }
  bool anything_archived_now() {
    auto page = blob_service_.list_blobs({kAccount, "old"}, {});
    return (page && !page->items.empty()) || !files().empty();
  }
  /// Of all keys together.
  std::size_t archived_versions() {
    std::size_t count = 0;
    const auto add = [&](const std::string& name, const std::string& bytes) {
      if (jobs::is_document_name(name)) ++count;
      if (const auto part = jobs::is_part_name(name) ? jobs::parse_part_text(bytes) : Result<jobs::PartText>{}; part) {
        count += part->entities.size();
      }
    };
    const auto page = blob_service_.list_blobs({kAccount, "old"}, {});
    for (const auto& item : page ? page->items : decltype(page->items){}) add(item.name, blob_bytes(item.name));
    for (const auto& path : files()) add(path, tree().read(path, 1 << 20)->value_or(""));
    return count;
  }
  /// Without a call of a client, which a hook may not make.
  std::string blob_bytes(const std::string& name) {
    auto opened = blob_service_.open_blob({kAccount, "old", name}, {});
    if (!opened) return {};
    auto reader = opened->read(0, opened->blob.size);
    std::string out;
    while (out.size() < opened->blob.size) out += reader.next().value_or("?");
    return out;
  }
  /// Why the job became poison.
  std::string poisoned(const std::string& text) {
    const auto job = submit(text);
    EXPECT_EQ(work_next().end, RunEnd::kPoisoned) << text;
    return record(job.id).error;
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
        auto read = jobs::parse_part_text(bytes);
        EXPECT_TRUE(read.has_value());
        if (read) entities = std::move(read->entities);
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

/// Forms of archives, tables too.
class WorkersRivals : public WorkersObjects, public ::testing::WithParamInterface<const char*> {
 protected:
  [[nodiscard]] bool is_table() const { return std::string_view(GetParam()).starts_with('"'); }
  [[nodiscard]] bool has_parts() const { return std::string_view(GetParam()).contains("lines"); }
  std::size_t copies() {
    if (!is_table()) return archived().size();
    return run(tables_.table_exists("Archive")).value_or(false) ? all("Archive").size() : 0;
  }
  /// Whether the next change of a table is the removal from the source.
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
    // A copy that both would share is the one's that wrote it.
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
  // The record that says so is a table's change too: only the first is lost.
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

TEST_F(WorkersObjects, AdoptingMakesALostCatalogAgain) {
  fill(20);
  const auto before = in_table();
  finish(archive(kDocumentFiles, R"("filter":"Number lt 10")"));
  finish(archive(kPartFiles));
  ASSERT_TRUE(run(tables_.delete_table("TidemarkFiles")).has_value());
  std::ofstream(directory_ / "readme.txt") << "a stranger's";
  std::filesystem::create_directories(directory_ / "y/source/p");
  std::ofstream(directory_ / "y/source/p/r@1-7fffffffffffffff-00000000-1.json") << "{}";
  const std::string adopt = R"({"kind":"adopt","directory":"nas"})";
  EXPECT_NE(poisoned(adopt).find("takeOver"), std::string::npos);
  auto planned = run(jobs::plan_job({jobs_, poison_, tables_, {&blobs_, directories_}}, *jobs::parse_job_spec(adopt)));
  ASSERT_TRUE(planned.has_value());
  EXPECT_EQ(planned->problems.size(), 1U);
  const auto job = finish(R"({"kind":"adopt","directory":"nas","takeOver":true})");
  EXPECT_EQ(job.done, 11U) << "ten documents and a part of the month";
  EXPECT_EQ(job.skipped, 1U);
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
  // The version before, as if the worker had died before it removed its file.
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
  // As in a table store that was restored from a backup.
  const auto job = jobs::parse_file_path(files().front())->writer.job;
  ASSERT_TRUE(run(tables_.forget_operation(job)).has_value());
  EXPECT_EQ(finish(adopt).done, 2U);
  EXPECT_EQ(finish(unarchive(kDocumentFiles)).done, 2U);
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
  // Newer, under some of the same keys.
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
  // Somebody has put the document under the name of another archive, with all that makes it look like a job's.
  ASSERT_TRUE(run(blobs_.put("old", "z/source/p/r.json", {}, text, {{"copier", 1, ""}, version, {}})).has_value());
  const auto back = finish(unarchive(R"({"container":"old","prefix":"z/"})"));
  EXPECT_EQ(back.done, 0U);
  EXPECT_EQ(back.skipped, 1U);
  // One that names none was written by an earlier version: its name alone says where it belongs.
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
  // Nor does one stack under two names.
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

}  // namespace
}  // namespace tidemark::workers
