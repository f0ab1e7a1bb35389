// Large properties moved out to blobs and back, end to end in one thread.
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
  void put_properties(const std::string& row, std::vector<table_store::Property> properties) {
    Mutation mutation;
    mutation.kind = MutationKind::kInsertOrReplace;
    mutation.row_key = row;
    mutation.properties = std::move(properties);
    ASSERT_TRUE(run(tables_.mutate("Source", "p", {mutation}, std::nullopt)).has_value());
  }
  void put_large(const std::string& row, int number) { put_properties(row, properties(number)); }
  void put_link(const std::string& row, const std::string& property, const jobs::BlobLink& link) {
    put_properties(row, {{property + std::string(jobs::kLinkSuffix), jobs::link_text(link)}});
  }
  std::size_t blob_count() {
    auto listed = run(blobs_.list("values", "", ""));
    return listed ? listed->names.size() : 0;
  }
  /// Counts the blobs from within a call, where run() cannot be used.
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
  /// Checks that every link leads to the right bytes, and that every blob is linked to.
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

TEST_F(WorkersOffload, ALinkThatLeadsNowhereIsASkipAndTheOthersComeBack) {
  for (int i = 0; i < 2; ++i) put_large("r" + std::to_string(i), i);
  finish(kOffload);
  const std::string bytes = "\xFF\xFE";
  const blob_store::FencedWrite write{{"other", 1, ""}, 1};
  ASSERT_TRUE(run(blobs_.put("values", "no-text", {}, bytes, write)).has_value());
  jobs::BlobLink link{"values", "no-text", "", bytes.size(), false, hex_encode(sha256(bytes))};
  put_link("no-text", "Text", link);
  link.binary = true;
  put_link("no-property", "PartitionKey", link);
  link.container = "NOT valid/../";
  put_link("no-container", "Text", link);
  link.container = "values";
  link.name = std::string(1025, 'n');
  put_link("no-name", "Text", link);
  const auto job = finish(kInline);
  EXPECT_EQ(job.done, 2U);
  EXPECT_EQ(job.skipped, 4U) << job.skips;
  EXPECT_EQ(blob_count(), 1U) << "what did not come back is still there";
}

TEST_F(WorkersOffload, APropertyThatStaysIsTold) {
  const std::string large(200, 'a');
  const auto e_acute = [](int times) {
    std::string out;
    for (int i = 0; i < times; ++i) out += "\xC3\xA9";
    return out;
  };
  put_properties("fits", {{e_acute(130), large}});
  put_properties("taken", {{"Text", large}, {"Text_tidemark_blob", std::string("mine")}, {"Other", large}});
  put_properties("too-long", {{e_acute(250), large}});
  auto job = finish(kOffload);
  EXPECT_EQ(job.done, 2U);
  EXPECT_EQ(job.skipped, 2U) << job.skips;
  EXPECT_EQ(blob_count(), 2U);
  put_properties("fits", {{"Text", large}});
  finish(
      R"({"kind":"offload","source":"Source","partitionKey":"p","rowKey":"fits","container":"values","minBytes":100})");
  auto both = *run(tables_.get("Source", "p", "fits"));
  both->properties.push_back({"Text", std::string("here again")});
  put_properties("fits", both->properties);
  job = finish(R"({"kind":"inline","source":"Source","partitionKey":"p","rowKey":"fits"})");
  EXPECT_EQ(job.done, 0U);
  EXPECT_EQ(job.skipped, 1U) << job.skips;
}

TEST_F(WorkersOffload, NeverChangesMoreThanMaxAffected) {
  for (int i = 0; i < 10; ++i) put_large(std::to_string(100 + i), i);
  submit(R"({"kind":"offload","source":"Source","filter":"","container":"values","minBytes":100,"maxAffected":10})");
  bool counted = false;
  bool more = false;
  table_link_.before = [&](std::string method) -> Task<Result<void>> {
    // They are added when the job has counted, and before it reads its page.
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
