// The service on the memory engine: content, lists against a naive model, damage, and files that the collector leaves.
#include <fstream>
#include <functional>

#include "tests/support/blob_service_fixture.h"

namespace tidemark::blob_store {
namespace {

TEST_F(BlobServiceTest, ContentOfManySizesByRange) {
  const auto k = kChunkBytes;
  for (const auto size : {std::size_t{0}, std::size_t{1}, k - 1, k, k + 1, 4 * k, 9 * k + 5}) {
    const auto text = content(size);
    put("b", text);
    EXPECT_EQ(*read("b"), text) << size;
    for (int i = 0; i < 20 && size > 0; ++i) {
      const auto offset = random_->below(size);
      const auto length = 1 + random_->below(size - offset);
      EXPECT_EQ(*read("b", offset, length), text.substr(offset, length));
    }
  }
}

TEST_F(BlobServiceTest, VersionsRise) {
  Stamp last;
  for (int i = 0; i < 50; ++i) {
    const auto version = run(service_.put_blob(ref("v"), {}, upload("x"), {}));
    EXPECT_GT(version->ticks, last.ticks);
    last = *version;
  }
}

TEST_F(BlobServiceTest, ReaderSeesTheOldContentWhileTheBlobIsReplaced) {
  const auto text = content(3'000'000);
  put("b", text);
  auto opened = service_.open_blob(ref("b"), {});
  put("b", "new");
  ASSERT_TRUE(run(service_.collector().collect()));
  EXPECT_EQ(files_.paths().size(), 1U) << "somebody reads it";
  EXPECT_EQ(*drain(opened->read(0, opened->blob.size)), text);
  EXPECT_EQ(*read("b"), "new");
  opened = fail(ErrorCode::kCancelled);
  run_background();
  EXPECT_TRUE(files_.paths().empty()) << "nobody reads it any more";
}

TEST_F(BlobServiceTest, AnOlderFormatIsToldAsSuch) {
  put("b", "x");
  EXPECT_TRUE(check_stored_format(*engine_->snapshot()));
  for (const char kind : {'B', 'C'}) {
    const auto key = *keys_of(kind).begin();
    kv::TransactionBody body = [&](kv::Transaction& txn) -> Result<void> {
      auto record = TRY(txn.get(key));
      if (!record) return fail(ErrorCode::kBlobNotFound);
      record->front() = 1;
      txn.put(key, *record);
      return {};
    };
    ASSERT_TRUE(run(engine_->transact(body)));
    const auto checked = check_stored_format(*engine_->snapshot());
    ASSERT_TRUE(checked.failed_with(ErrorCode::kConfigInvalid));
    EXPECT_NE(checked.error().message.find("stored in format 1"), std::string::npos) << checked.error().message;
  }
}

TEST_F(BlobServiceTest, DamageToARowIsNoticed) {
  for (const auto& damage : {"flip", "lose"}) {
    put("b", content(6000));
    const auto key = *keys_of('P').rbegin();
    kv::TransactionBody body = [&](kv::Transaction& txn) -> Result<void> {
      auto chunk = TRY(txn.get(key));
      if (!chunk) return fail(ErrorCode::kBlobNotFound);
      (*chunk)[chunk->size() / 2] ^= 1;
      if (damage == std::string("flip")) txn.put(key, *chunk);
      if (damage == std::string("lose")) txn.erase(key);
      return {};
    };
    ASSERT_TRUE(run(engine_->transact(body)));
    EXPECT_TRUE(read("b").failed_with(ErrorCode::kCorruption)) << damage;
  }
}

TEST_F(BlobServiceTest, DamageToAFileIsNoticed) {
  put("b", content(600'000));
  const auto path = *files_.paths().begin();
  const auto sealed_chunk = static_cast<std::streamoff>(kChunkBytes + 4);
  const auto damage = [&](const std::function<void(std::fstream&)>& change) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    change(file);
  };
  damage([&](std::fstream& file) { file.seekp(400'000).put('!'); });
  EXPECT_TRUE(read("b").failed_with(ErrorCode::kCorruption));
  EXPECT_TRUE(read("b", 0, 1000)) << "another chunk";
  damage([&](std::fstream& file) {  // each chunk is whole, but the second is the first one again
    std::string first(static_cast<std::size_t>(sealed_chunk), '\0');
    file.read(first.data(), sealed_chunk);
    file.seekp(sealed_chunk).write(first.data(), sealed_chunk);
  });
  EXPECT_TRUE(read("b").failed_with(ErrorCode::kCorruption));
  std::filesystem::resize_file(path, 500'000);
  EXPECT_TRUE(read("b", 550'000, 10).failed_with(ErrorCode::kCorruption));
  std::filesystem::remove(path);
  EXPECT_TRUE(read("b", 0, 10).failed_with(ErrorCode::kStorageFailure));
}

TEST_F(BlobServiceTest, APageEndsWhereItsRowsAreLarge) {
  for (int i = 0; i < 700; ++i) {
    NewContent made;
    made.metadata = {{"k", std::string(8000, 'v')}};
    ASSERT_TRUE(run(service_.create_append_blob(ref("blob " + std::to_string(1000 + i)), made, {})));
  }
  ListRequest request;
  std::size_t listed = 0, pages = 0;
  do {
    const auto page = service_.list_blobs({"acc", "box"}, request);
    listed += page->items.size();
    ++pages;
    request.from = page->next;
  } while (!request.from.name.empty());
  EXPECT_EQ(listed, 700U);
  EXPECT_EQ(pages, 2U);
}

TEST_F(BlobServiceTest, ListsAgreeWithANaiveModel) {
  std::set<std::string> names;
  const std::string letters = "ab/\x7F\xC3\xA4";
  for (int i = 0; i < 300; ++i) {
    std::string name;
    for (auto left = 1 + random_->below(6); left > 0; --left) {
      const auto at = random_->below(5);
      name += at < 4 ? std::string(1, letters[at]) : letters.substr(4);
    }
    names.insert(name);
  }
  ASSERT_GT(names.size(), 100U);
  for (const auto& name : names) put(name, "x");
  for (const std::string prefix : {"", "a", "a/", "/", "b\x7F", "zz"}) {
    for (const std::string delimiter : {"", "/", "ab"}) {
      std::set<std::string> expected;
      for (const auto& name : names) {
        if (!name.starts_with(prefix)) continue;
        const auto at = delimiter.empty() ? std::string::npos : name.find(delimiter, prefix.size());
        expected.insert(at == std::string::npos ? name : "P:" + name.substr(0, at + delimiter.size()));
      }
      for (const std::size_t limit : {1UL, 7UL, 5000UL}) {
        std::vector<std::string> listed;
        std::vector<std::string> in_order;
        ListRequest request;
        request.prefix = prefix;
        request.delimiter = delimiter;
        request.limit = limit;
        do {
          const auto page = service_.list_blobs({"acc", "box"}, request);
          ASSERT_TRUE(page);
          EXPECT_LE(page->items.size(), limit);
          for (const auto& item : page->items) {
            listed.push_back((item.folded ? "P:" : "") + item.name);
            in_order.push_back(item.name);
          }
          request.from = page->next;
        } while (!request.from.name.empty());
        EXPECT_TRUE(std::is_sorted(in_order.begin(), in_order.end()));
        EXPECT_EQ(listed.size(), expected.size()) << prefix << "|" << delimiter << "|" << limit;
        EXPECT_EQ(std::set<std::string>(listed.begin(), listed.end()), expected);
      }
    }
  }
}

TEST_F(BlobServiceTest, BlocksAreCommittedAndLimitedToOneIdLength) {
  stage("b", "MQ==", "one");
  stage("b", "Mg==", content(700'000));
  stage("b", "MQ==", "uno");
  EXPECT_TRUE(run(service_.put_block(ref("b"), "longer==", upload("x"))).failed_with(ErrorCode::kInvalidBlobOrBlock));
  EXPECT_TRUE(service_.get_blob(ref("b"), {}).failed_with(ErrorCode::kBlobNotFound));
  EXPECT_TRUE(run(service_.put_block_list(ref("b"), {{BlockSource::kLatest, "MQ=="}}, {}, {})));
  EXPECT_EQ(*read("b"), "uno");
  const auto lists = service_.get_block_lists(ref("b"));
  EXPECT_EQ(lists->committed.size(), 1U);
  EXPECT_TRUE(lists->staged.empty());
}

TEST_F(BlobServiceTest, ABlobOfStagedBlocksAloneIsDeletedForGood) {
  retain(7);
  stage("b", "MQ==", "one");
  stage("b", "Mg==", content(700'000));
  const auto deleted = run(service_.delete_blob(ref("b"), DeleteSnapshots::kNone, {}));
  ASSERT_TRUE(deleted);
  EXPECT_TRUE(*deleted);
  EXPECT_TRUE(service_.get_block_lists(ref("b")).failed_with(ErrorCode::kBlobNotFound));
  EXPECT_TRUE(run(service_.delete_blob(ref("b"), DeleteSnapshots::kNone, {})).failed_with(ErrorCode::kBlobNotFound));
  collect();
  EXPECT_TRUE(stored_payloads().empty());
}

TEST_F(BlobServiceTest, BlocksWithoutBytesAreInTheListWhereverTheyAre) {
  stage("b", "MQ==", "");
  stage("b", "Mg==", "two");
  const std::vector<BlockChoice> choices{{BlockSource::kLatest, "MQ=="},
                                         {BlockSource::kLatest, "MQ=="},
                                         {BlockSource::kLatest, "Mg=="},
                                         {BlockSource::kLatest, "MQ=="}};
  for (int i = 0; i < 2; ++i) {  // of staged blocks, then of committed ones
    ASSERT_TRUE(run(service_.put_block_list(ref("b"), choices, {}, {})));
    EXPECT_EQ(service_.get_block_lists(ref("b"))->committed.size(), choices.size());
    EXPECT_EQ(*read("b"), "two");
    EXPECT_EQ(*read("b", 1, 2), "wo");
  }
}

TEST_F(BlobServiceTest, CollectorLeavesExactlyTheReferencedPayloads) {
  for (int i = 0; i < 200; ++i) {
    const auto name = "n" + std::to_string(random_->below(5));
    const auto id = "id" + std::to_string(random_->below(4));
    const std::size_t size = random_->below(4) == 0 ? 1'500'000 : 10;
    switch (random_->below(5)) {
      case 0:
        put(name, content(size));
        break;
      case 1:
        stage(name, id, content(size));
        break;
      case 2:
        (void)run(service_.put_block_list(ref(name), {{BlockSource::kLatest, id}}, {}, {}));
        break;
      case 3:
        (void)run(service_.delete_blob(ref(name), DeleteSnapshots::kNone, {}));
        break;
      default: {
        const auto payload = upload(content(size));
        if (payload.id == 0) break;
        abandon(payload.id);
      }
    }
  }
  ASSERT_TRUE(run(service_.collector().collect()));
  EXPECT_EQ(stored_payloads(), referenced_payloads());
  EXPECT_FALSE(stored_payloads().empty());
  EXPECT_TRUE(keys_of('Q').empty());
  EXPECT_TRUE(keys_of('D').empty());
}

TEST_F(BlobServiceTest, DeletedContainerIsCollectedAndItsNameIsFreeAtOnce) {
  put("b", content(600'000));
  stage("c", "MQ==", content(10));
  ASSERT_TRUE(run(service_.delete_container({"acc", "box"}, {})));
  ASSERT_TRUE(run(service_.create_container({"acc", "box"}, {}, "")));
  EXPECT_TRUE(read("b").failed_with(ErrorCode::kBlobNotFound));
  put("fresh", "kept");
  ASSERT_TRUE(run(service_.collector().collect()));
  EXPECT_EQ(stored_payloads().size(), 1U);
  for (const char kind : {'G', 'D', 'K', 'U'}) EXPECT_TRUE(keys_of(kind).empty()) << kind;
  EXPECT_EQ(*read("fresh"), "kept");
}

TEST_F(BlobServiceTest, UnfinishedUploadsOfAnEarlierProcessAreCollectedAtStart) {
  const auto lost = upload(content(2'000'000));
  ASSERT_NE(lost.id, 0U);
  EXPECT_EQ(keys_of('Q').size(), 1U);
  service_.collector().start();
  io_.restart();
  io_.run();
  EXPECT_TRUE(keys_of('Q').empty());
  EXPECT_TRUE(stored_payloads().empty());
}

}  // namespace
}  // namespace tidemark::blob_store
