// Many retained versions of a blob: for readers they are deleted and brought back at once, while the rows follow in
// slices.
#include "blob_store/storage/kept_blobs.h"
#include "tests/support/blob_service_fixture.h"

namespace tidemark::blob_store {
namespace {

constexpr std::size_t kMany = 1000;

class KeptBlobsTest : public BlobServiceTest {
 protected:
  std::vector<Stamp> take_snapshots(const std::string& name, std::size_t count) {
    std::vector<Stamp> taken;
    for (std::size_t i = 0; i < count; ++i) {
      put(name, "content " + std::to_string(i));
      taken.push_back(snapshot(name));
    }
    return taken;
  }
  struct Listed {
    std::size_t blobs = 0, snapshots = 0, deleted = 0;
    bool operator==(const Listed&) const = default;
  };
  Listed list(std::size_t limit = 5000) {
    ListRequest request;
    request.with_snapshots = request.with_deleted = true;
    request.limit = limit;
    Listed seen;
    std::optional<ListedBlob> before;
    do {
      const auto page = service_.list_blobs({"acc", "box"}, request);
      EXPECT_TRUE(page);
      for (const auto& item : page->items) {
        const bool rises = !before || before->name < item.name || !before->snapshot || !item.snapshot ||
                           before->snapshot->ticks < item.snapshot->ticks;
        EXPECT_TRUE(rises) << item.name;
        ++(item.deleted ? seen.deleted : item.snapshot ? seen.snapshots : seen.blobs);
        before = item;
      }
      request.from = page->next;
    } while (!request.from.name.empty());
    return seen;
  }
  Result<std::string> read_snapshot(const std::string& name, Stamp version) {
    auto opened = TRY(service_.open_blob({"acc", "box", name, version}, {}));
    return drain(opened.read(0, opened.blob.size));
  }
  Result<bool> erase(const std::string& name, DeleteSnapshots snapshots = DeleteSnapshots::kInclude) {
    return run(slow_.delete_blob(ref(name), snapshots, {}));
  }
  void settle() { ASSERT_TRUE(run(service_.collector().collect())); }
  /// Removes the versions whose time is over by then for good; returns their number.
  std::size_t purge(Time at) {
    std::size_t purged = 0;
    kv::TransactionBody body = [&](kv::Transaction& txn) -> Result<void> {
      purged = TRY(purge_kept(txn, at, 100'000));
      return {};
    };
    EXPECT_TRUE(run(engine_->transact(body)));
    return purged;
  }

  asio::io_context idle_;  // the collector of this service never has a turn: unfinished work stays unfinished
  BlobService slow_{*engine_, *clock_, *random_, files_, idle_.get_executor()};
};

TEST_F(KeptBlobsTest, ManySnapshotsGoAtOnceForReaders) {
  const auto taken = take_snapshots("b", kMany);
  EXPECT_TRUE(erase("b", DeleteSnapshots::kNone).failed_with(ErrorCode::kSnapshotsPresent));
  ASSERT_TRUE(erase("b"));
  EXPECT_GT(keys_of(blob_keys::kSnapshot).size(), kMany / 2) << "one transaction changes some of them only";
  EXPECT_EQ(list(), Listed());
  for (const auto version : {taken.front(), taken[kMany / 2], taken.back()}) {
    EXPECT_TRUE(read_snapshot("b", version).failed_with(ErrorCode::kBlobNotFound));
  }
  settle();
  for (const char kind : {'B', 'S', 'Z', 'V', 'P', 'R'}) EXPECT_TRUE(keys_of(kind).empty()) << kind;
}

TEST_F(KeptBlobsTest, ABlobOfThatNameIsANewOneMeanwhile) {
  take_snapshots("b", kMany);
  ASSERT_TRUE(erase("b"));
  put("b", "fresh");
  const auto fresh = snapshot("b");
  EXPECT_EQ(list(), (Listed{1, 1, 0}));
  // It first finishes the deletion that was begun.
  ASSERT_TRUE(erase("b", DeleteSnapshots::kOnly));
  EXPECT_TRUE(read_snapshot("b", fresh).failed_with(ErrorCode::kBlobNotFound));
  EXPECT_EQ(list(), (Listed{1, 0, 0}));
  EXPECT_EQ(*read("b"), "fresh");
}

TEST_F(KeptBlobsTest, ManyAreRetainedAndComeBackAtOnce) {
  retain(3);
  const auto taken = take_snapshots("b", kMany);
  // Each put but the first one retained the blob that it replaced.
  ASSERT_EQ(list(), (Listed{1, kMany, kMany - 1}));
  ASSERT_FALSE(*erase("b"));
  EXPECT_EQ(list(), (Listed{0, 0, 2 * kMany}));
  EXPECT_EQ(list(7), list());
  EXPECT_GT(keys_of(blob_keys::kSnapshot).size(), kMany / 2);
  ASSERT_TRUE(run(slow_.undelete_blob(ref("b"))));
  EXPECT_EQ(list(), (Listed{1, 2 * kMany - 1, 0}));
  EXPECT_EQ(list(7), list());
  EXPECT_GT(keys_of(blob_keys::kDeleted).size(), kMany);
  for (const std::size_t i : {std::size_t{0}, kMany / 2, kMany - 1}) {
    EXPECT_EQ(*read_snapshot("b", taken[i]), "content " + std::to_string(i));
  }
  settle();
  EXPECT_EQ(list(), (Listed{1, 2 * kMany - 1, 0}));
  for (const char kind : {'Z', 'V', 'E'}) EXPECT_TRUE(keys_of(kind).empty()) << kind;
}

TEST_F(KeptBlobsTest, APrefixIsListedThoughItsOwnNameWasDeleted) {
  retain(1);
  for (const std::string name : {"0", "a/"}) put(name, "x");
  ASSERT_FALSE(*erase("a/"));
  ListRequest request;
  request.with_deleted = true;
  request.delimiter = "/";
  request.limit = 1;
  const auto first = service_.list_blobs({"acc", "box"}, request);
  ASSERT_EQ(first->items.at(0).name, "0");
  request.from = first->next;
  const auto second = service_.list_blobs({"acc", "box"}, request);
  ASSERT_EQ(second->items.size(), 1U);
  EXPECT_EQ(second->items[0].name, "a/");
  EXPECT_TRUE(second->items[0].folded);
  EXPECT_TRUE(second->next.name.empty());
}

TEST_F(KeptBlobsTest, WithoutTheBlobItselfNothingComesBack) {
  retain(1);
  for (const std::string text : {"old", "new"}) put("b", text);
  retain(0);
  ASSERT_TRUE(*erase("b", DeleteSnapshots::kNone));
  EXPECT_TRUE(run(service_.undelete_blob(ref("b"))).failed_with(ErrorCode::kBlobNotFound));
  EXPECT_EQ(list(), (Listed{0, 0, 1}));
  put("b", "newest");
  ASSERT_TRUE(run(service_.undelete_blob(ref("b"))));
  EXPECT_EQ(list(), (Listed{1, 1, 0}));
}

TEST_F(KeptBlobsTest, IsRetainedForItsDaysAndThenGoes) {
  retain(2);
  put("b", "x");
  const auto before = clock_->now();
  ASSERT_FALSE(*erase("b"));
  const auto after = clock_->now();
  EXPECT_EQ(purge(before + std::chrono::hours(48) - std::chrono::milliseconds(1)), 0U);
  EXPECT_EQ(list(), (Listed{0, 0, 1}));
  EXPECT_EQ(purge(after + std::chrono::hours(48) + std::chrono::milliseconds(1)), 1U);
  EXPECT_EQ(list(), Listed());
  EXPECT_TRUE(run(service_.undelete_blob(ref("b"))).failed_with(ErrorCode::kBlobNotFound));
}

TEST_F(KeptBlobsTest, WhatIsBroughtBackIsNotPurged) {
  retain(1);
  const auto taken = take_snapshots("b", kMany);
  ASSERT_FALSE(*erase("b"));
  ASSERT_TRUE(run(slow_.undelete_blob(ref("b"))));
  EXPECT_EQ(purge(clock_->now() + std::chrono::hours(48)), 0U);
  EXPECT_EQ(*read_snapshot("b", taken.front()), "content 0");
}

TEST_F(KeptBlobsTest, ACopyOfWhatIsBeingBroughtBack) {
  retain(3);
  const auto taken = take_snapshots("b", kMany);
  ASSERT_FALSE(*erase("b"));
  ASSERT_TRUE(run(slow_.undelete_blob(ref("b"))));
  CopyRequest request;
  request.source = {"acc", "box", "b", taken.back()};
  ASSERT_TRUE(run(slow_.copy_blob(request, ref("copy"), {})));
  retain(0);
  ASSERT_TRUE(*erase("b"));
  settle();
  EXPECT_EQ(*read("copy"), "content " + std::to_string(kMany - 1));
  EXPECT_EQ(stored_payloads(), referenced_payloads());
}

TEST_F(KeptBlobsTest, ADeletedContainerTakesWhatWasBegunAlong) {
  take_snapshots("b", kMany);
  ASSERT_TRUE(erase("b"));
  ASSERT_TRUE(run(slow_.delete_container({"acc", "box"}, {})));
  settle();
  for (const char kind : {'B', 'S', 'Z', 'V', 'P', 'R', 'G'}) EXPECT_TRUE(keys_of(kind).empty()) << kind;
}

TEST_F(KeptBlobsTest, APageEndsThatComesPastMuchThatIsDeleted) {
  constexpr std::uint64_t kDeleted = 12'000;
  const auto generation = service_.get_container({"acc", "box"})->generation;
  put("a", "x");
  put("b", "x");
  const auto blob = *service_.get_blob(ref("b"), {});
  kv::TransactionBody bury = [&](kv::Transaction& txn) -> Result<void> {
    for (std::uint64_t i = 1; i <= kDeleted; ++i) {
      KeptBlob kept{blob, true, clock_->now(), 7};
      kept.blob.content = {};
      KeptBlobs(generation, "b").retain(txn, Stamp{i}, kept);
    }
    return {};
  };
  ASSERT_TRUE(run(engine_->transact(bury)));
  ListRequest request;
  request.with_snapshots = true;
  std::vector<std::string> names;
  std::size_t pages = 0;
  do {
    const auto page = service_.list_blobs({"acc", "box"}, request);
    ASSERT_TRUE(page);
    for (const auto& item : page->items) names.push_back(item.name);
    request.from = page->next;
    ++pages;
  } while (!request.from.name.empty());
  EXPECT_EQ(names, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(pages, 3U);
  EXPECT_EQ(list().deleted, kDeleted);
}

}  // namespace
}  // namespace tidemark::blob_store
