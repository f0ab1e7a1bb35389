// BlobClient against the dispatch through a loopback that carries bytes only, as the wire does.
#include <gtest/gtest.h>

#include "blob_store/client/blob_client.h"
#include "blob_store/internal/blob_dispatch.h"
#include "blob_store/storage/blob_keys.h"
#include "blob_store/storage/blob_service.h"
#include "tests/support/loopback.h"
#include "tests/support/memory_engine.h"
#include "tests/support/seeded_random.h"
#include "tests/support/standing_clock.h"
#include "tests/support/task_runner.h"
#include "tests/support/temporary_payloads.h"

namespace tidemark::blob_store {
namespace {

using enum WriteOutcome;

class BlobClientTest : public ::testing::Test, protected TaskRunner {
 protected:
  void SetUp() override { ASSERT_TRUE(run(client_.ensure_container("box"))); }

  static FencedWrite write(std::int64_t source_version, std::uint64_t epoch = 1) {
    return {{"job", epoch, "copied"}, source_version};
  }
  WriteOutcome put(const std::string& bytes, std::int64_t version, std::uint64_t epoch = 1) {
    return run(client_.put("box", "a", {}, bytes, write(version, epoch))).value();
  }
  std::string content(const std::string& name) {
    std::string bytes;
    while (true) {
      auto piece = run(client_.read("box", name, bytes.size(), {}));
      if (!piece || !*piece) return "(missing)";
      bytes += (*piece)->bytes;
      if (bytes.size() == (*piece)->size) return bytes;
    }
  }
  std::size_t count_of(char kind) {
    std::size_t count = 0;
    const auto snapshot = engine_->snapshot();
    for (const auto cursor = snapshot->scan(blob_keys::all(kind)); cursor->valid(); cursor->next()) ++count;
    return count;
  }

  StandingClock clock_{Time(std::chrono::hours(24 * 365 * 2025L))};
  std::unique_ptr<Random> random_ = make_seeded_random(7);
  std::unique_ptr<kv::Engine> engine_ = kv::make_memory_engine();
  TemporaryPayloads files_{io_.get_executor()};
  BlobService service_{*engine_, clock_, *random_, files_, io_.get_executor()};
  rpc::Loopback loopback_{make_blob_dispatch(service_)};
  BlobClient client_{loopback_, "acct"};
};

TEST_F(BlobClientTest, ANewerCopyStays) {
  EXPECT_EQ(put("two", 2), kApplied);
  EXPECT_EQ(put("one", 1), kSuperseded);
  EXPECT_EQ(put("two again", 2), kUnchanged);
  EXPECT_EQ(content("a"), "two");
  EXPECT_EQ(put("three", 3), kApplied);
  EXPECT_EQ(content("a"), "three");
  EXPECT_EQ(run(client_.read_operation("job"))->counter("copied"), 2U);
}

TEST_F(BlobClientTest, ReplacesExactlyTheVersionItNames) {
  const auto replace = [&](const std::string& bytes, std::int64_t version, std::int64_t replaces) {
    auto fenced = write(version);
    fenced.replaces = replaces;
    return run(client_.put("box", "a", {}, bytes, fenced)).value();
  };
  EXPECT_EQ(replace("into nothing", 2, 1), kSuperseded);
  EXPECT_EQ(put("one", 1), kApplied);
  EXPECT_EQ(replace("three", 3, 2), kSuperseded);
  EXPECT_EQ(replace("two", 2, 1), kApplied);
  EXPECT_EQ(replace("two again", 2, 1), kUnchanged);
  EXPECT_EQ(replace("three", 3, 1), kSuperseded);
  EXPECT_EQ(content("a"), "two");
}

TEST_F(BlobClientTest, AStaleOrClosedOperationChangesNothing) {
  EXPECT_EQ(put("by the second", 1, 2), kApplied);
  EXPECT_TRUE(run(client_.put("box", "a", {}, "late", write(9, 1))).failed_with(ErrorCode::kFenced));
  EXPECT_TRUE(run(client_.close_operation("job", 2, 0)));
  EXPECT_TRUE(run(client_.close_operation("job", 2, 0)));
  EXPECT_TRUE(run(client_.open_operation("job", 3, 0))->closed);
  EXPECT_TRUE(run(client_.put("box", "a", {}, "late", write(9, 2))).failed_with(ErrorCode::kFenced));
  EXPECT_TRUE(run(client_.stage("box", "a", 0, "late", write(9, 2).fence)).failed_with(ErrorCode::kFenced));
  EXPECT_TRUE(run(client_.erase("box", "a", write(9, 2))).failed_with(ErrorCode::kFenced));
  EXPECT_EQ(content("a"), "by the second");
}

TEST_F(BlobClientTest, PiecesAppearTogetherOrNotAtAll) {
  const std::string piece(300'000, 'x');
  ASSERT_TRUE(run(client_.stage("box", "b", 0, piece, write(5).fence)));
  ASSERT_TRUE(run(client_.stage("box", "b", 1, "end", write(5).fence)));
  EXPECT_EQ(content("b"), "(missing)");
  // Another delivery of the job begins anew: blocks that the first one staged are not part of it.
  ASSERT_TRUE(run(client_.stage("box", "b", 0, "second", write(5, 2).fence)));
  EXPECT_TRUE(run(client_.publish("box", "b", 2, {}, write(5, 2))).failed_with(ErrorCode::kInvalidBlockList));
  EXPECT_EQ(run(client_.publish("box", "b", 1, {}, write(5, 2))).value(), kApplied);
  EXPECT_EQ(content("b"), "second");
  EXPECT_EQ(run(client_.publish("box", "b", 1, {}, write(5, 2))).value(), kUnchanged);
  ASSERT_TRUE(run(service_.collector().collect()));
  EXPECT_EQ(count_of('K'), 0U);
  EXPECT_EQ(count_of('P'), 1U) << "the pieces of the first delivery are collected";
}

TEST_F(BlobClientTest, ErasesOnlyWhatIsNotNewer) {
  EXPECT_EQ(put("five", 5), kApplied);
  EXPECT_EQ(run(client_.erase("box", "a", write(4))).value(), kSuperseded);
  EXPECT_EQ(content("a"), "five");
  EXPECT_EQ(run(client_.erase("box", "a", write(5))).value(), kApplied);
  EXPECT_EQ(run(client_.erase("box", "a", write(5))).value(), kMissing);
}

TEST_F(BlobClientTest, LargeContentIsReadInPiecesOfOneVersion) {
  const std::string piece(kMaxPieceBytes, 'x');
  for (std::uint32_t index = 0; index < 3; ++index) {
    ASSERT_TRUE(run(client_.stage("box", "big", index, piece, write(1).fence)));
  }
  ASSERT_EQ(run(client_.publish("box", "big", 3, {}, write(1))).value(), kApplied);
  EXPECT_EQ(content("big").size(), 3 * kMaxPieceBytes);
  const auto first = run(client_.read("box", "big", 0, {}));
  const auto version = (*first)->version;
  EXPECT_TRUE(run(client_.read("box", "big", kMaxPieceBytes, version)));
  EXPECT_EQ(run(client_.put("box", "big", {}, "new", write(2))).value(), kApplied);
  EXPECT_TRUE(run(client_.read("box", "big", kMaxPieceBytes, version)).failed_with(ErrorCode::kConditionNotMet));
}

TEST_F(BlobClientTest, ListsNames) {
  EXPECT_EQ(put("x", 1), kApplied);
  const auto names = run(client_.list("box", "", ""));
  ASSERT_TRUE(names);
  EXPECT_EQ(names->names, std::vector<std::string>{"a"});
  EXPECT_TRUE(names->next.empty());
}

TEST_F(BlobClientTest, StagedPiecesThatNobodyPublishesGoAfterAWeek) {
  ASSERT_TRUE(run(client_.stage("box", "b", 0, "left behind", write(1).fence)));
  clock_.time += std::chrono::hours(6 * 24);
  ASSERT_TRUE(run(service_.collector().collect()));
  EXPECT_EQ(count_of('K'), 1U);
  clock_.time += std::chrono::hours(25);
  ASSERT_TRUE(run(service_.collector().collect()));
  EXPECT_EQ(count_of('K') + count_of('U') + count_of('P'), 0U);
}

TEST_F(BlobClientTest, WhatComesWithTheContentIsCheckedAsElsewhere) {
  std::vector<std::pair<NewContent, ErrorCode>> refused(3);
  refused[0].first.headers.type = "text/\x01plain";
  refused[0].second = ErrorCode::kInvalidHeaderValue;
  refused[1].first.metadata = {{"no name", "x"}};
  refused[1].second = ErrorCode::kInvalidMetadata;
  refused[2].first.tags = {{"a", "#"}};
  refused[2].second = ErrorCode::kInvalidTag;
  ASSERT_TRUE(run(client_.stage("box", "b", 0, "piece", write(1).fence)));
  for (const auto& [given, code] : refused) {
    EXPECT_TRUE(run(client_.put("box", "a", given, std::string(300'000, 'x'), write(1))).failed_with(code));
    EXPECT_TRUE(run(client_.publish("box", "b", 1, given, write(1))).failed_with(code));
  }
  EXPECT_EQ(content("a") + content("b"), "(missing)(missing)");
  ASSERT_TRUE(run(service_.collector().collect()));
  EXPECT_TRUE(files_.paths().empty()) << "what was refused is not kept";
  NewContent unordered;
  unordered.tags = {{"b", "2"}, {"a", "1"}};
  EXPECT_EQ(run(client_.publish("box", "b", 1, unordered, write(1))).value(), kApplied);
  EXPECT_EQ(service_.get_blob({"acct", "box", "b"}, {})->tags, (Tags{{"a", "1"}, {"b", "2"}}));
}

TEST_F(BlobClientTest, NonsenseIsRefused) {
  for (const std::string nonsense : {"", "x", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"}) {
    EXPECT_TRUE(run(loopback_.call("blob.put", nonsense, {})).failed_with(ErrorCode::kInvalidInput));
  }
  EXPECT_FALSE(run(client_.ensure_container("No")));
  EXPECT_TRUE(run(client_.read_operation("")).failed_with(ErrorCode::kInvalidInput));
}

}  // namespace
}  // namespace tidemark::blob_store
