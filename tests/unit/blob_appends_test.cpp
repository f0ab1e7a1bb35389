// Append blobs: conditions, concurrent appends, readers of a growing blob, and content shared with snapshots.
#include <boost/asio/post.hpp>

#include "common/base/error_codes.h"
#include "tests/support/blob_service_fixture.h"

namespace tidemark::blob_store {
namespace {

class AppendBlobTest : public BlobServiceTest {
 protected:
  void create(const std::string& name) { ASSERT_TRUE(run(service_.create_append_blob(ref(name), {}, {}))); }
  Result<AppendOutcome> try_append(const std::string& name, const std::string& text, AppendConditions wanted = {}) {
    return run(service_.append_block(ref(name), upload(text), wanted, {}));
  }
  void change(const std::string& name, const std::function<void(Blob&)>& edit) {
    kv::TransactionBody body = [&](kv::Transaction& txn) -> Result<void> {
      auto current = TRY(find_current(txn, {}, ref(name)));
      if (!current.blob) return fail(ErrorCode::kBlobNotFound);
      edit(*current.blob);
      txn.put(blob_keys::blob(current.generation, name), records::kBlob.encode(*current.blob));
      return {};
    };
    ASSERT_TRUE(run(engine_->transact(body)));
  }
};

TEST_F(AppendBlobTest, BlocksFollowEachOther) {
  create("a");
  EXPECT_EQ(*read("a"), "");
  std::string expected;
  for (const std::size_t size : {std::size_t{1}, std::size_t{5000}, kChunkBytes, kChunkBytes + 1, std::size_t{7}}) {
    const auto text = content(size);
    const auto appended = try_append("a", text);
    ASSERT_TRUE(appended);
    EXPECT_EQ(appended->offset, expected.size());
    expected += text;
  }
  EXPECT_EQ(*read("a"), expected);
  EXPECT_EQ(*read("a", 4999, 300'000), expected.substr(4999, 300'000));
  const auto blob = service_.get_blob(ref("a"), {});
  EXPECT_EQ(blob->type, BlobType::kAppend);
  EXPECT_EQ(blob->appended_blocks, 5U);
}

TEST_F(AppendBlobTest, ConditionsOnPositionAndSize) {
  create("a");
  EXPECT_TRUE(try_append("a", "12345", {.position = 0, .max_size = 5}));
  EXPECT_TRUE(try_append("a", "x", {.position = 0}).failed_with(ErrorCode::kAppendPositionConditionNotMet));
  EXPECT_TRUE(try_append("a", "x", {.max_size = 5}).failed_with(ErrorCode::kMaxBlobSizeConditionNotMet));
  EXPECT_TRUE(try_append("a", "x", {.position = 5, .max_size = 6}));
  EXPECT_EQ(*read("a"), "12345x");
}

TEST_F(AppendBlobTest, ASealedBlobDoesNotGrow) {
  create("a");
  append("a", "x");
  EXPECT_TRUE(
      run(service_.seal_blob(ref("a"), {.position = 0}, {})).failed_with(ErrorCode::kAppendPositionConditionNotMet));
  const auto before = service_.get_blob(ref("a"), {})->version;
  for (int i = 0; i < 2; ++i) EXPECT_EQ(run(service_.seal_blob(ref("a"), {.position = 1}, {}))->ticks, before.ticks);
  EXPECT_TRUE(try_append("a", "y").failed_with(ErrorCode::kBlobIsSealed));
  EXPECT_TRUE(run(service_.set_metadata(ref("a"), {{"k", "v"}}, {})));
  EXPECT_TRUE(service_.get_blob(ref("a"), {})->sealed);
  EXPECT_EQ(*read("a"), "x");
}

TEST_F(AppendBlobTest, AtMost50000Blocks) {
  create("a");
  change("a", [](Blob& blob) { blob.appended_blocks = 49'999; });
  EXPECT_TRUE(try_append("a", "x"));
  EXPECT_TRUE(try_append("a", "y").failed_with(ErrorCode::kBlockCountExceedsLimit));
}

TEST_F(AppendBlobTest, AnAppendForgetsTheMd5OfTheContent) {
  NewContent made;
  made.headers.type = "text/plain";
  made.headers.md5 = "1B2M2Y8AsgTpgAmY7PhCfg==";
  ASSERT_TRUE(run(service_.create_append_blob(ref("a"), made, {})));
  append("a", "x");
  const auto headers = service_.get_blob(ref("a"), {})->headers;
  EXPECT_EQ(headers.md5, "");
  EXPECT_EQ(headers.type, "text/plain");
}

TEST_F(AppendBlobTest, OperationsOfOtherTypesAreRefused) {
  create("a");
  put("b", "text");
  EXPECT_TRUE(try_append("b", "x").failed_with(ErrorCode::kInvalidBlobType));
  EXPECT_TRUE(try_append("missing", "x").failed_with(ErrorCode::kBlobNotFound));
  EXPECT_TRUE(run(service_.seal_blob(ref("b"), {}, {})).failed_with(ErrorCode::kInvalidBlobType));
  EXPECT_TRUE(run(service_.put_block(ref("a"), "MQ==", upload("x"))).failed_with(ErrorCode::kInvalidBlobType));
  EXPECT_TRUE(run(service_.put_block_list(ref("a"), {}, {}, {})).failed_with(ErrorCode::kInvalidBlobType));
  EXPECT_TRUE(service_.get_block_lists(ref("a")).failed_with(ErrorCode::kInvalidBlobType));
  EXPECT_TRUE(run(service_.put_blob(ref("a"), {}, upload("x"), {})).failed_with(ErrorCode::kInvalidBlobType));
  EXPECT_TRUE(run(service_.create_append_blob(ref("b"), {}, {})).failed_with(ErrorCode::kInvalidBlobType));
  EXPECT_TRUE(run(service_.create_page_blob(ref("b"), {}, 512, 0, {})).failed_with(ErrorCode::kInvalidBlobType));
  CopyRequest copy;
  copy.source = ref("b");
  for (const bool as_new : {false, true}) {
    copy.as_new_block_blob = as_new;
    EXPECT_TRUE(run(service_.copy_blob(copy, ref("a"), {})).failed_with(ErrorCode::kInvalidBlobType)) << as_new;
  }
  Conditions nothing_there;
  nothing_there.if_none_match = {"*"};
  EXPECT_TRUE(
      run(service_.put_blob(ref("a"), {}, upload("x"), nothing_there)).failed_with(ErrorCode::kBlobAlreadyExists));
  EXPECT_EQ(*read("a"), "");
  EXPECT_EQ(*read("b"), "text");
}

TEST_F(AppendBlobTest, ConcurrentAppendsAllLand) {
  create("a");
  constexpr int kAppends = 200;
  std::vector<AppendOutcome> outcomes;
  for (int i = 0; i < kAppends; ++i) {
    asio::co_spawn(
        io_,
        [](BlobService& service, std::vector<AppendOutcome>& all, std::string text) -> Task<void> {
          co_await asio::post(asio::use_awaitable);
          const auto size = text.size();
          auto done = co_await service.append_block(ref("a"), WrittenPayload{0, size, std::move(text)}, {}, {});
          if (done) all.push_back(*done);
        }(service_, outcomes, std::to_string(1000 + i)),
        asio::detached);
  }
  run_background();
  ASSERT_EQ(outcomes.size(), static_cast<std::size_t>(kAppends));
  const auto text = *read("a");
  ASSERT_EQ(text.size(), 4UL * kAppends);
  std::set<std::string> parts;
  std::set<std::uint64_t> offsets;
  for (std::size_t at = 0; at < text.size(); at += 4) parts.insert(text.substr(at, 4));
  for (const auto& outcome : outcomes) offsets.insert(outcome.offset);
  EXPECT_EQ(parts.size(), outcomes.size());
  EXPECT_EQ(offsets.size(), outcomes.size());
}

TEST_F(AppendBlobTest, AReaderSeesTheBlobAsItWasWhenItWasOpened) {
  create("a");
  const auto first = content(kChunkBytes + 5);
  append("a", first);
  const auto opened = service_.open_blob(ref("a"), {});
  append("a", "more");
  EXPECT_EQ(opened->blob.size, first.size());
  EXPECT_EQ(*drain(opened->read(0, opened->blob.size)), first);
  EXPECT_EQ(*read("a"), first + "more");
}

TEST_F(AppendBlobTest, AnAppendCostsTheSameHoweverManyBlocksThereAre) {
  create("a");
  append("a", "x");
  const auto rows = [&] { return keys_of('X').size() + keys_of('P').size(); };
  for (int i = 0; i < 100; ++i) {
    const auto before = rows();
    append("a", "x");
    ASSERT_EQ(rows(), before + 2);
  }
  EXPECT_TRUE(keys_of('D').empty());
}

TEST_F(AppendBlobTest, SnapshotsKeepWhatTheyHad) {
  create("a");
  std::vector<std::pair<Stamp, std::string>> snapshots;
  std::string now;
  for (int i = 0; i < 60; ++i) {
    const auto text = content(random_->below(8) == 0 ? kChunkBytes + 1 : 20);
    append("a", text);
    now += text;
    if (random_->below(5) == 0) snapshots.emplace_back(snapshot("a"), now);
    if (snapshots.size() > 3) {
      drop_snapshot("a", snapshots.front().first);
      snapshots.erase(snapshots.begin());
    }
  }
  EXPECT_EQ(*read("a"), now);
  for (const auto& [version, text] : snapshots) {
    auto kept = ref("a");
    kept.snapshot = version;
    const auto opened = service_.open_blob(kept, {});
    EXPECT_EQ(*drain(opened->read(0, opened->blob.size)), text);
  }
  for (const bool replaced : {false, true}) {
    if (replaced) create("a");
    ASSERT_TRUE(run(service_.collector().collect()));
    EXPECT_EQ(stored_payloads(), referenced_payloads());
    EXPECT_TRUE(keys_of('D').empty());
  }
}

}  // namespace
}  // namespace tidemark::blob_store
