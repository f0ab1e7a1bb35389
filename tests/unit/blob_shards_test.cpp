// Blobs over several shards: operations that span them, containers that every shard must know of, copies between them,
// and the state that is left when a shard fails in the middle.
#include <gmock/gmock.h>

#include <map>

#include "blob_store/storage/blob_holdings.h"
#include "common/service/holdings.h"
#include "tests/support/blob_service_fixture.h"
#include "tests/support/damage.h"
#include "tests/support/failing_engine.h"

namespace tidemark::blob_store {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class BlobShards : public BlobServiceTest {
 protected:
  static constexpr std::size_t kShards = 4;

  BlobShards() : BlobShards(std::make_shared<std::optional<std::size_t>>()) {}

  /// Returns a name of a blob on this shard, in this container.
  std::string on(std::size_t shard, const std::string& container = "box", int which = 0) const {
    for (int i = 0;; ++i) {
      auto name = "blob-" + std::to_string(i);
      if (stored_.placement.of({"acc", container, name}) == shard && which-- == 0) return name;
    }
  }
  std::set<std::string> keys_on(std::size_t shard, char kind) {
    std::set<std::string> found;
    for (auto& key : kv::keys_under(*engines_[shard], std::string(1, kind))) found.insert(std::move(key));
    return found;
  }
  std::vector<std::string> told() { return kv::told(checked()); }
  void expect_sound() { EXPECT_THAT(told(), IsEmpty()); }
  std::vector<std::string> listed(ListRequest request) {
    std::vector<std::string> names;
    do {
      auto page = service_.list_blobs({"acc", "box"}, request);
      EXPECT_TRUE(page);
      for (const auto& item : page->items) {
        names.push_back(item.name + (item.folded        ? "*"
                                     : item.uncommitted ? "?"
                                     : item.deleted     ? "-"
                                     : item.snapshot    ? "@"
                                                        : ""));
      }
      request.from = page->next;
    } while (!request.from.name.empty());
    return names;
  }
  /// Lists everything, in pages of so many.
  static ListRequest in_pages(std::size_t limit) {
    ListRequest request;
    request.limit = limit;
    return request;
  }
  Result<CopyOutcome> copy(const BlobRef& from, const std::string& to, Conditions conditions = {}) {
    CopyRequest request;
    request.source = from;
    return answer(service_.copy_blob(request, ref(to), std::move(conditions)));
  }
  Result<void> drop_box() { return answer(service_.delete_container({"acc", "box"}, {})); }
  Result<Stamp> make_box() { return run(service_.create_container({"acc", "box"}, {}, "")); }
  Result<Stamp> try_put(const std::string& name, const std::string& text = "text") {
    return run(service_.put_blob(ref(name), {}, {0, text.size(), text}, {}));
  }

  kv::Allowance left_;  // the transactions that are left before shards fail

 private:
  explicit BlobShards(const kv::Allowance& left) : BlobServiceTest(7, failing(left)), left_(left) {}
  static Engines failing(const kv::Allowance& left) {
    Engines engines;
    while (engines.size() < kShards) engines.push_back(std::make_unique<kv::FailingEngine>(left));
    return engines;
  }
};

TEST_F(BlobShards, EachHasItsBlobsAlone) {
  const auto generation = service_.get_container({"acc", "box"})->generation;
  for (std::size_t shard = 0; shard < kShards; ++shard) {
    put(on(shard), "text");
    EXPECT_THAT(keys_on(shard, 'B'), ElementsAre(blob_keys::blob(generation, on(shard))));
    EXPECT_EQ(*read(on(shard)), "text");
  }
  EXPECT_EQ(keys_of('C').size(), 1U) << "only the first has containers";
  expect_sound();
}

TEST_F(BlobShards, IdsTellTheShardAndNeverMeet) {
  std::set<std::uint64_t> ids;
  for (std::size_t shard = 0; shard < kShards; ++shard) {
    for (int i = 0; i < 3; ++i) put(on(shard, "box", i), content(300'000));
    for (const auto& key : keys_on(shard, 'B')) {
      const auto id = records::kBlob.decode(**engines_[shard]->get(key))->content.id;
      EXPECT_EQ(Ids::shard_of(id), shard);
      ids.insert(id);
    }
  }
  EXPECT_EQ(ids.size(), 3 * kShards);
  EXPECT_EQ(files_.paths().size(), 3 * kShards);
  expect_sound();
}

TEST_F(BlobShards, AreListedInOrderHoweverTheyAreAskedFor) {
  std::vector<std::string> flat, everything;
  std::set<std::string> folded;
  for (int i = 100; i < 160; ++i) {
    const auto name = "d" + std::to_string(i / 20) + "/" + std::to_string(i);
    put(name, "x");
    flat.push_back(name);
    folded.insert("d" + std::to_string(i / 20) + "/*");
    if (i % 3 == 0) {
      snapshot(name);
      everything.push_back(name + "@");
    }
    everything.push_back(name);
    if (i % 5 != 0) continue;
    stage(name + "-staged", "AAAA", "y");
    everything.push_back(name + "-staged?");
  }
  for (const std::size_t limit : {1U, 7U, 5000U}) {
    auto request = in_pages(limit);
    EXPECT_EQ(listed(request), flat) << limit;
    request.delimiter = "/";
    EXPECT_EQ(listed(request), std::vector<std::string>(folded.begin(), folded.end())) << limit;
    request.prefix = "d6/";
    EXPECT_EQ(listed(request).size(), 20U) << limit;
    request = in_pages(limit);
    request.with_snapshots = request.with_uncommitted = true;
    EXPECT_EQ(listed(request), everything) << limit;
  }
}

TEST_F(BlobShards, WhatIsDeletedIsRetainedOnEveryShard) {
  retain(3);
  std::set<std::string> names;
  for (std::size_t shard = 0; shard < kShards; ++shard) {
    put(on(shard), "text");
    EXPECT_FALSE(*run(service_.delete_blob(ref(on(shard)), DeleteSnapshots::kNone, {}))) << "for good";
    names.insert(on(shard) + "-");
  }
  auto request = in_pages(2);
  request.with_deleted = true;
  EXPECT_EQ(listed(request), std::vector<std::string>(names.begin(), names.end()));
  for (std::size_t shard = 0; shard < kShards; ++shard) {
    ASSERT_TRUE(run(service_.undelete_blob(ref(on(shard)))));
    EXPECT_EQ(*read(on(shard)), "text");
  }
  expect_sound();
}

TEST_F(BlobShards, AreFoundByTheirTagsInOrderAndInPages) {
  std::vector<std::string> expected;
  for (int i = 100; i < 140; ++i) {
    const auto name = "n" + std::to_string(i);
    put(name, "x");
    ASSERT_TRUE(run(service_.set_tags(ref(name), {{"team", i % 2 == 0 ? "a" : "b"}}, {})));
    if (i % 2 == 0) expected.push_back(name);
  }
  TagFind find;
  find.search.terms = {{"team", TagOperator::kEqual, "a"}};
  find.limit = 3;
  std::vector<std::string> found;
  do {
    auto page = service_.find_by_tags("acc", find);
    ASSERT_TRUE(page);
    for (const auto& blob : page->items) found.push_back(blob.name);
    find.from = page->next;
  } while (!find.from.name.empty());
  EXPECT_EQ(found, expected);
  expect_sound();
}

TEST_F(BlobShards, ACopyOnAnotherShardHasTheBlocksOfItsSource) {
  const auto large = content(700'000);
  stage(on(0), "AAAA", large);
  stage(on(0), "BBBB", "");
  stage(on(0), "CCCC", "end");
  ASSERT_TRUE(run(service_.put_block_list(
      ref(on(0)), {{BlockSource::kLatest, "AAAA"}, {BlockSource::kLatest, "BBBB"}, {BlockSource::kLatest, "CCCC"}}, {},
      {})));
  ASSERT_TRUE(copy(ref(on(0)), on(1)));
  ASSERT_TRUE(run(service_.delete_blob(ref(on(0)), DeleteSnapshots::kNone, {})));
  collect();
  EXPECT_EQ(*read(on(1)), large + "end");
  EXPECT_EQ(*read(on(1), 699'990, 12), (large + "end").substr(699'990, 12));
  const auto lists = service_.get_block_lists(ref(on(1)));
  ASSERT_TRUE(lists);
  std::vector<std::string> ids;
  for (const auto& extent : lists->committed) ids.push_back(extent.block_id);
  EXPECT_THAT(ids, ElementsAre("AAAA", "BBBB", "CCCC"));
  expect_sound();
  // Its blocks can also be published again, beside new ones.
  stage(on(1), "DDDD", "!");
  ASSERT_TRUE(run(service_.put_block_list(
      ref(on(1)), {{BlockSource::kCommitted, "CCCC"}, {BlockSource::kLatest, "DDDD"}}, {}, {})));
  EXPECT_EQ(*read(on(1)), "end!");
  expect_sound();
}

TEST_F(BlobShards, ACopyOnAnotherShardHasTheHolesOfItsSource) {
  constexpr std::uint64_t kPageBytes = 512;
  const auto write = [&](const std::string& name, std::uint64_t page, const std::string& bytes) {
    EXPECT_TRUE(run(service_.put_pages(ref(name), {page * kPageBytes, bytes.size()}, upload_for(name, bytes), {}, {})));
  };
  ASSERT_TRUE(run(service_.create_page_blob(ref(on(2)), {}, 4096 * kPageBytes, 0, {})));
  write(on(2), 3, content(kPageBytes));
  write(on(2), 1000, content(600 * kPageBytes));
  const auto before = *read(on(2));
  ASSERT_TRUE(copy(ref(on(2)), on(3)));
  EXPECT_EQ(*read(on(3)), before);
  const auto ranges = service_.get_page_ranges(ref(on(3)), {}, {});
  ASSERT_TRUE(ranges);
  EXPECT_EQ(ranges->ranges.size(), 2U);
  // The copy has pages of its own.
  const auto other = content(2 * kPageBytes);
  write(on(3), 1001, other);
  EXPECT_EQ(read(on(3))->substr(1001 * kPageBytes, 2 * kPageBytes), other);
  EXPECT_EQ(*read(on(2)), before);
  collect();
  expect_sound();
}

TEST_F(BlobShards, ACopyOfAnAppendBlobGoesOn) {
  ASSERT_TRUE(run(service_.create_append_blob(ref(on(0)), {}, {})));
  for (const auto* text : {"one ", "two "}) append(on(0), text);
  ASSERT_TRUE(copy(ref(on(0)), on(3)));
  append(on(0), "of the source");
  append(on(3), "of the copy");
  EXPECT_EQ(*read(on(3)), "one two of the copy");
  EXPECT_EQ(*read(on(0)), "one two of the source");
  expect_sound();
}

TEST_F(BlobShards, ASnapshotIsCopiedAsItWas) {
  put(on(1), "as it was");
  auto source = ref(on(1));
  source.snapshot = snapshot(on(1));
  put(on(1), "as it is");
  ASSERT_TRUE(copy(source, on(0)));
  EXPECT_EQ(*read(on(0)), "as it was");
  expect_sound();
}

TEST_F(BlobShards, ARefusedCopyLeavesNothing) {
  put(on(0), content(400'000));
  put(on(1), "there");
  Conditions conditions;
  conditions.if_match = {"0x1"};
  EXPECT_TRUE(copy(ref(on(0)), on(1), conditions).failed_with(ErrorCode::kConditionNotMet));
  EXPECT_TRUE(copy(ref(on(2)), on(1)).failed_with(ErrorCode::kBlobNotFound));
  CopyRequest request;
  request.source = ref(on(0));
  EXPECT_TRUE(run(service_.copy_blob(request, {"acc", "none", on(1)}, {})).failed_with(ErrorCode::kContainerNotFound));
  for (std::size_t transactions = 0; transactions < 2; ++transactions) {  // of the payload, and of its publication
    *left_ = transactions;
    EXPECT_FALSE(copy(ref(on(0)), on(1)));
    left_->reset();
    run_background();
    collect();
    EXPECT_EQ(*read(on(1)), "there");
    EXPECT_EQ(files_.paths().size(), 1U) << transactions;
    expect_sound();
  }
}

TEST_F(BlobShards, ACopyOfTwoContainersOnOneShardKnowsBoth) {
  ASSERT_TRUE(run(service_.create_container({"acc", "other"}, {}, "")));
  put(on(2), "text");
  const BlobRef to{"acc", "other", on(2, "other")};
  CopyRequest request;
  request.source = ref(on(2));
  ASSERT_TRUE(run(service_.copy_blob(request, to, {})));
  EXPECT_EQ(*drain(service_.open_blob(to, {})->read(0, 4)), "text");
  expect_sound();
}

TEST_F(BlobShards, ACopyRetainsWhatItReplacesAsTheAccountOfItsPlaceSays) {
  constexpr std::size_t kShard = 2;
  ASSERT_TRUE(run(service_.create_container({"else", "box"}, {}, "")));
  BlobRef foreign{"else", "box", "0"};
  for (int i = 1; stored_.placement.of({foreign.account, foreign.container, foreign.name}) != kShard; ++i) {
    foreign.name = std::to_string(i);
  }
  put(on(kShard), "text");
  ASSERT_TRUE(run(service_.put_blob(foreign, {}, {0, 4, "text"}, {})));
  retain(7);  // in the only account
  CopyRequest there, back;
  there.source = ref(on(kShard));
  ASSERT_TRUE(run(service_.copy_blob(there, foreign, {})));
  EXPECT_THAT(keys_of(blob_keys::kDeleted), IsEmpty());
  back.source = foreign;
  ASSERT_TRUE(run(service_.copy_blob(back, ref(on(kShard)), {})));
  EXPECT_EQ(keys_of(blob_keys::kDeleted).size(), 1U);
  expect_sound();
}

TEST_F(BlobShards, ACopyBringsBackWhatIsArchived) {
  put(on(1), "text");
  ASSERT_TRUE(run(service_.set_tier(ref(on(1)), std::string(kArchive), {})));
  CopyRequest request;
  request.source = ref(on(1));
  for (const auto& to : {on(1, "box", 1), on(2)}) {
    request.rehydrates = false;
    EXPECT_TRUE(run(service_.copy_blob(request, ref(to), {})).failed_with(ErrorCode::kBlobArchived));
    request.rehydrates = true;
    request.tier = "Hot";
    ASSERT_TRUE(run(service_.copy_blob(request, ref(to), {})));
    EXPECT_EQ(*read(to), "text");
  }
  EXPECT_TRUE(read(on(1)).failed_with(ErrorCode::kBlobArchived));
}

TEST_F(BlobShards, ADeletedContainerIsGoneOnEveryShard) {
  for (std::size_t shard = 0; shard < kShards; ++shard) put(on(shard), content(300'000));
  ASSERT_TRUE(drop_box());
  for (std::size_t shard = 0; shard < kShards; ++shard) {
    EXPECT_TRUE(service_.get_blob(ref(on(shard)), {}).failed_with(ErrorCode::kContainerNotFound)) << shard;
    EXPECT_TRUE(try_put(on(shard)).failed_with(ErrorCode::kContainerNotFound)) << shard;
  }
  ASSERT_TRUE(make_box());
  EXPECT_THAT(listed(in_pages(5000)), IsEmpty());
  for (std::size_t shard = 0; shard < kShards; ++shard) {
    EXPECT_TRUE(service_.get_blob(ref(on(shard)), {}).failed_with(ErrorCode::kBlobNotFound)) << shard;
    ASSERT_TRUE(try_put(on(shard))) << shard;
  }
  run_background();
  collect();
  EXPECT_THAT(files_.paths(), IsEmpty());
  EXPECT_EQ(keys_of('B').size(), kShards);
  EXPECT_THAT(keys_of('G'), IsEmpty());
  expect_sound();
}

/// Wherever a deletion fails, either everything acknowledged is there or all of it is gone, and it can be repeated.
TEST_F(BlobShards, ADeletionThatFailsAnywhereIsFinished) {
  for (std::size_t transactions = 0; transactions <= kShards + 1; ++transactions) {
    for (std::size_t shard = 0; shard < kShards; ++shard) ASSERT_TRUE(try_put(on(shard)));
    *left_ = transactions;
    const auto dropped = drop_box();
    left_->reset();
    EXPECT_EQ(dropped.has_value(), transactions == kShards + 1) << transactions;
    if (!dropped) EXPECT_TRUE(drop_box()) << transactions;
    EXPECT_TRUE(service_.get_container({"acc", "box"}).failed_with(ErrorCode::kContainerNotFound));
    for (std::size_t shard = 0; shard < kShards; ++shard) {
      EXPECT_TRUE(try_put(on(shard)).failed_with(ErrorCode::kContainerNotFound)) << shard;
    }
    ASSERT_TRUE(make_box());
    EXPECT_THAT(listed(in_pages(5000)), IsEmpty());
    run_background();
    expect_sound();
  }
}

TEST_F(BlobShards, ADeletionThatAProcessLeftIsFinishedByTheNext) {
  for (std::size_t shard = 0; shard < kShards; ++shard) put(on(shard), "text");
  *left_ = 3;
  EXPECT_FALSE(drop_box());
  left_->reset();
  BlobService next(stored_, *clock_, *random_, files_, io_.get_executor());
  next.start();
  run_background();
  EXPECT_TRUE(next.get_container({"acc", "box"}).failed_with(ErrorCode::kContainerNotFound));
  for (std::size_t shard = 0; shard < kShards; ++shard) EXPECT_THAT(keys_on(shard, 'c'), IsEmpty()) << shard;
}

TEST_F(BlobShards, AnAttemptThatWasOvertakenWritesOnNoShard) {
  const auto put_if_newer = [&](const std::string& name, std::uint64_t epoch, std::int64_t version) {
    return run(service_.put_if_newer(ref(name), {}, {0, 4, "text"}, {{"op", epoch, "copied"}, version}));
  };
  for (std::size_t shard = 0; shard < kShards; ++shard) {
    EXPECT_EQ(put_if_newer(on(shard), 1, 1).value(), WriteOutcome::kApplied);
  }
  EXPECT_EQ(run(service_.open_operation("acc", "op", 2))->counter("copied"), kShards);
  for (std::size_t shard = 0; shard < kShards; ++shard) {
    EXPECT_TRUE(put_if_newer(on(shard), 1, 2).failed_with(ErrorCode::kFenced)) << shard;
    EXPECT_EQ(put_if_newer(on(shard), 2, 1).value(), WriteOutcome::kUnchanged);
  }
  EXPECT_EQ(run(service_.close_operation("acc", "op", 2))->counter("copied"), kShards);
  for (std::size_t shard = 0; shard < kShards; ++shard) {
    EXPECT_TRUE(put_if_newer(on(shard), 2, 3).failed_with(ErrorCode::kFenced)) << shard;
  }
  expect_sound();
}

TEST_F(BlobShards, APayloadOfAnotherShardIsNotTaken) {
  const auto payload = upload_for(on(0), content(300'000));
  EXPECT_TRUE(run(service_.put_blob(ref(on(1)), {}, payload, {})).failed_with(ErrorCode::kInternalError));
}

TEST_F(BlobShards, EachContainerCountsOnce) {
  std::vector<service::MeasuredShard> measured;
  for (const auto& engine : engines_) measured.push_back({*engine, {}});
  for (std::size_t shard = 0; shard < kShards; ++shard) put(on(shard), std::string(100, 'x'));
  const service::Holdings holdings{&each_container, &content_bytes, true};
  const auto counted = *service::count(measured, holdings, [](std::uint64_t) { return true; }, "acc");
  EXPECT_EQ(counted.units, 1U);
  EXPECT_EQ(counted.bytes, 100 * kShards);
}

TEST_F(BlobShards, TheCheckTellsWhatIsOnTheWrongShard) {
  put(on(1), "");
  const auto key = *keys_on(1, 'B').begin();
  kv::put_row(*engines_[2], key, **engines_[1]->get(key));
  EXPECT_THAT(told(), ElementsAre("reference: belongs to a blob that is on another shard"));
}

TEST_F(BlobShards, TheCheckTellsACopyOfAContainerThatIsNotThere) {
  put(on(1), "text");
  kv::put_row(*engines_[1], kv::key('c', kv::Text{"acc"}, kv::Text{"gone"}),
              **engines_[1]->get(*keys_on(1, 'c').begin()));
  EXPECT_THAT(told(), ElementsAre(HasSubstr("is a copy of what the catalogue does not say")));
}

TEST_F(BlobShards, AFileBelongsToTheRowsOfItsShard) {
  for (std::size_t shard = 0; shard < kShards; ++shard) put(on(shard), content(300'000));
  const PayloadFiles& files = files_;
  const auto kept = files.keep_all();
  const auto rows = shards::snapshots_of(stored_);
  EXPECT_EQ(files_of_rows(rows, files.directory())->size(), kShards);
  ASSERT_TRUE(run(service_.delete_blob(ref(on(2)), DeleteSnapshots::kNone, {})));
  EXPECT_EQ(files_of_rows(shards::snapshots_of(stored_), files.directory())->size(), kShards - 1);
  EXPECT_EQ(files_of_rows(rows, files.directory())->size(), kShards) << "as the rows were";
  run_background();
}

}  // namespace
}  // namespace tidemark::blob_store
