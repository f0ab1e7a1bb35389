// Archives outside of tables, end to end: the stores' services on memory engines, reached over loopbacks that lose
// requests and answers. The archive is read back with the blob client.
#pragma once
#include <unistd.h>

#include <filesystem>
#include <map>

#include "jobs/kinds/archive/archive_text.h"
#include "jobs/kinds/archive/object_names.h"
#include "jobs/objects/file_collector.h"
#include "jobs/objects/file_objects.h"
#include "table_store/odata/entity_text.h"
#include "workers_fixture.h"

namespace tidemark::workers {

inline constexpr const char* kDocuments = R"({"container":"old","prefix":"x/"})";
inline constexpr const char* kParts = R"({"container":"old","format":"lines","gzip":true})";
inline constexpr const char* kDays = R"({"container":"old","format":"lines","per":"day"})";

inline constexpr const char* kDocumentFiles = R"({"directory":"nas","prefix":"y/"})";
inline constexpr const char* kPartFiles = R"({"directory":"nas","format":"lines","per":"month","gzip":true})";

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
  /// Returns the contents of the container and of the directory, once the leftovers of dead workers are collected.
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
  /// Lists the files below the directory, in order.
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
  /// Collects as a worker does from time to time, `later`.
  jobs::CollectedFiles collect(Duration later = {}, Duration grace = {}, Duration quarantine = std::chrono::hours(24)) {
    auto done = run(jobs::collect_files(tables_, directories_.front(), {clock_->now() + later, grace, quarantine}));
    EXPECT_TRUE(done.has_value());
    return done.value_or(jobs::CollectedFiles{});
  }
  bool anything_archived_now() {
    auto page = blob_service_.list_blobs({kAccount, "old"}, {});
    return (page && !page->items.empty()) || !files().empty();
  }
  /// Counts the versions of all keys together.
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
  /// Reads without a call of a client, which a hook may not make.
  std::string blob_bytes(const std::string& name) {
    auto opened = blob_service_.open_blob({kAccount, "old", name}, {});
    if (!opened) return {};
    auto reader = opened->read(0, opened->blob.size);
    std::string out;
    while (out.size() < opened->blob.size) out += reader.next().value_or("?");
    return out;
  }
  /// Returns the reason why the job became poison.
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
  /// Returns every archived entity; a key that is there twice is a failure.
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
  /// Cancels the job while its first call of the method (after something was archived, for the table store) is on its
  /// way. `work_next()` after this delivers it.
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

}  // namespace tidemark::workers
