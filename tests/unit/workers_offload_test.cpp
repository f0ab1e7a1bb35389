// Large properties out to blobs and back, end to end in one thread.
#include "common/base/encoding.h"
#include "jobs/kinds/offload/blob_link.h"
#include "workers_fixture.h"

namespace tidemark::workers {
namespace {

using table_store::Binary;

constexpr const char* kOffload =
    R"({"kind":"offload","source":"Source","filter":"","container":"values","minBytes":100,"maxAttempts":50})";
constexpr const char* kInline = R"({"kind":"inline","source":"Source","filter":"","maxAttempts":50})";

class WorkersOffload : public WorkersFixture {
 protected:
  static std::string bytes(int seed, std::size_t size) {
    std::string out;
    for (std::size_t i = 0; i < size; ++i) out += static_cast<char>((i * 7 + static_cast<std::size_t>(seed)) % 256);
    return out;
  }
  static std::vector<table_store::Property> properties(int number) {
    return {{"Number", number},
            {"Small", std::string("short")},
            {"Text", std::string(200, 'a') + "\xC3\xA9" + std::to_string(number)},
            {"Picture", Binary{bytes(number, 5000)}},
            {"Last", true}};
  }
  void put_large(const std::string& row, int number) {
    Mutation mutation;
    mutation.kind = MutationKind::kInsertOrReplace;
    mutation.row_key = row;
    mutation.properties = properties(number);
    ASSERT_TRUE(run(tables_.mutate("Source", "p", {mutation}, std::nullopt)).has_value());
  }
  std::size_t blob_count() {
    auto listed = run(blobs_.list("values", "", ""));
    return listed ? listed->names.size() : 0;
  }
  /// From within a call, where run() cannot be used.
  std::size_t blob_count_now() {
    auto page = blob_service_.list_blobs({kAccount, "values"}, {});
    return page ? page->items.size() : 0;
  }
  void expect_whole(int count) {
    const auto entities = all("Source");
    ASSERT_EQ(entities.size(), static_cast<std::size_t>(count));
    for (const auto& entity : entities) {
      const auto wanted = properties(std::get<std::int32_t>(*entity.find("Number")));
      ASSERT_EQ(entity.properties.size(), wanted.size());
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        EXPECT_EQ(entity.properties[i].name, wanted[i].name);
        EXPECT_EQ(entity.properties[i].value, wanted[i].value) << wanted[i].name;
      }
    }
  }
  /// Every link leads to the bytes that it says, and every blob is linked to.
  void expect_linked(int count) {
    const auto entities = all("Source");
    ASSERT_EQ(entities.size(), static_cast<std::size_t>(count));
    std::size_t links = 0;
    for (const auto& entity : entities) {
      for (const auto* name : {"Text", "Picture"}) {
        EXPECT_EQ(entity.find(name), nullptr);
        const auto* text = entity.find(std::string(name) + std::string(jobs::kLinkSuffix));
        ASSERT_NE(text, nullptr);
        const auto link = jobs::parse_link(std::get<std::string>(*text));
        ASSERT_TRUE(link.has_value());
        auto piece = run(blobs_.read(link->container, link->name, 0, {}));
        ASSERT_TRUE(piece && *piece);
        EXPECT_EQ((*piece)->bytes.size(), link->size);
        EXPECT_EQ((*piece)->version.etag(), link->etag);
        EXPECT_EQ(hex_encode(sha256((*piece)->bytes)), link->sha256);
        EXPECT_EQ(link->binary, std::string_view(name) == "Picture");
        ++links;
      }
    }
    EXPECT_EQ(blob_count(), links) << "blobs that nothing links to";
  }
};

TEST_F(WorkersOffload, GoesOutAndComesBackExactly) {
  for (int i = 0; i < 120; ++i) put_large(std::to_string(1000 + i), i);
  EXPECT_EQ(finish(kOffload).done, 120U);
  expect_linked(120);
  EXPECT_EQ(finish(kOffload).done, 0U) << "nothing is left to move";
  EXPECT_EQ(finish(kInline).done, 120U);
  expect_whole(120);
  EXPECT_EQ(blob_count(), 0U);
}

TEST_F(WorkersOffload, OnlyWhatIsNamed) {
  put_large("r", 1);
  const auto job = finish(R"({"kind":"offload","source":"Source","partitionKey":"p","rowKey":"r",)"
                          R"("container":"values","properties":["Picture","Number","Nothing"]})");
  EXPECT_EQ(job.done, 1U);
  const auto entity = all("Source").at(0);
  EXPECT_NE(entity.find("Text"), nullptr);
  EXPECT_NE(entity.find("Number"), nullptr);
  EXPECT_NE(entity.find("Picture_tidemark_blob"), nullptr);
  EXPECT_EQ(finish(R"({"kind":"inline","source":"Source","filter":"","properties":["Text"]})").done, 0U);
  EXPECT_EQ(finish(R"({"kind":"inline","source":"Source","filter":"","keepBlobs":true})").done, 1U);
  expect_whole(1);
  EXPECT_EQ(blob_count(), 1U);
}

TEST_F(WorkersOffload, AnEntityChangedDuringTheUploadIsReadAgain) {
  put_large("r", 1);
  submit(kOffload);
  bool changed = false;
  table_link_.before = [&](std::string method) -> Task<Result<void>> {
    if (changed || method != "table.mutate" || blob_count_now() == 0) co_return Result<void>{};
    changed = true;
    Mutation mutation;
    mutation.kind = MutationKind::kInsertOrReplace;
    mutation.row_key = "r";
    mutation.properties = properties(2);
    std::vector<Mutation> mutations{mutation};
    auto done = co_await table_service_.mutate(kAccount, "Source", "p", std::move(mutations), std::nullopt);
    EXPECT_TRUE(done.has_value());
    co_return Result<void>{};
  };
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  table_link_.before = nullptr;
  EXPECT_TRUE(changed);
  expect_linked(1);
  finish(kInline);
  EXPECT_EQ(std::get<std::int32_t>(*all("Source").at(0).find("Number")), 2);
  expect_whole(1);
}

TEST_F(WorkersOffload, AMissingBlobIsSkippedAndChangesNothing) {
  put_large("r", 1);
  finish(kOffload);
  const auto link = jobs::parse_link(std::get<std::string>(*all("Source").at(0).find("Text_tidemark_blob")));
  ASSERT_TRUE(link.has_value());
  ASSERT_TRUE(run(blobs_.erase("values", link->name, {{"other", 1, ""}, 1})).has_value());
  const auto job = finish(kInline);
  EXPECT_EQ(job.done, 0U);
  EXPECT_EQ(job.skipped, 1U);
  EXPECT_NE(all("Source").at(0).find("Picture_tidemark_blob"), nullptr);
  EXPECT_EQ(blob_count(), 1U);
}

TEST_F(WorkersOffload, NeverChangesMoreThanMaxAffected) {
  for (int i = 0; i < 10; ++i) put_large(std::to_string(100 + i), i);
  submit(R"({"kind":"offload","source":"Source","filter":"","container":"values","minBytes":100,"maxAffected":10})");
  bool counted = false;
  bool more = false;
  table_link_.before = [&](std::string method) -> Task<Result<void>> {
    // They come when the job has counted, and before it reads its page.
    if (method == "table.count") counted = true;
    if (method == "table.query" && counted && !more) {
      more = true;
      for (int i = 10; i < 40; ++i) {
        Mutation mutation;
        mutation.kind = MutationKind::kInsertOrReplace;
        mutation.row_key = std::to_string(100 + i);
        mutation.properties = properties(i);
        std::vector<Mutation> mutations{mutation};
        auto done = co_await table_service_.mutate(kAccount, "Source", "p", std::move(mutations), std::nullopt);
        EXPECT_TRUE(done.has_value());
      }
    }
    // Many are on their way to the store at once.
    if (method == "table.mutate") co_await sleep_for(*clock_, std::chrono::milliseconds(2));
    co_return Result<void>{};
  };
  EXPECT_EQ(work_next().end, RunEnd::kPoisoned);
  table_link_.before = nullptr;
  EXPECT_TRUE(more);
  std::size_t changed = 0;
  for (const auto& entity : all("Source")) changed += entity.find("Picture_tidemark_blob") != nullptr ? 1 : 0;
  EXPECT_EQ(changed, 10U);
}

TEST_F(WorkersOffload, OffloadingSurvivesALossAnywhere) {
  survives_a_loss_anywhere(
      kOffload,
      [&] {
        for (int i = 0; i < 3; ++i) put_large(std::to_string(i), i);
        auto listed = run(blobs_.list("values", "", ""));
        if (!listed) return;
        for (const auto& name : listed->names) ASSERT_TRUE(run(blobs_.erase("values", name, {{"clean", 1, ""}, 1})));
      },
      [&](const jobs::JobRecord& job) {
        EXPECT_EQ(job.done, 3U);
        expect_linked(3);
      });
}

TEST_F(WorkersOffload, InliningSurvivesALossAnywhere) {
  survives_a_loss_anywhere(
      kInline,
      [&] {
        for (int i = 0; i < 3; ++i) put_large(std::to_string(i), i);
        finish(kOffload);
      },
      [&](const jobs::JobRecord& job) {
        EXPECT_EQ(job.done, 3U);
        expect_whole(3);
        EXPECT_EQ(blob_count(), 0U);
      });
}

}  // namespace
}  // namespace tidemark::workers
