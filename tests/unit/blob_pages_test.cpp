// Page blobs: random histories of writes, clears, resizes and snapshots against byte arrays, conditions, page ranges,
// and the amount of stored data.
#include <map>

#include "tests/support/blob_service_fixture.h"

namespace tidemark::blob_store {
namespace {

constexpr std::uint64_t kPage = kPageBytes;

/// A byte of the model, and whether it is in a page.
struct Model {
  std::string bytes;
  std::vector<bool> pages;
  /// The time of each page's last change.
  std::vector<int> changed;

  void resize(std::uint64_t size) {
    bytes.resize(size);
    pages.resize(size / kPage);
    changed.resize(size / kPage);
  }
  void write(ByteRange range, const std::string& text, int when) {
    bytes.replace(range.offset, range.length, text.empty() ? std::string(range.length, '\0') : text);
    for (auto page = range.offset / kPage; page < end_of(range) / kPage; ++page) {
      if (pages[page] || !text.empty()) changed[page] = when;
      pages[page] = !text.empty();
    }
  }
  [[nodiscard]] std::vector<ChangedRange> ranges() const {
    std::vector<ChangedRange> found;
    for (std::uint64_t page = 0; page < pages.size(); ++page) {
      if (pages[page]) add_range(found, {page * kPage, kPage, false});
    }
    return found;
  }
};

class PageBlobTest : public BlobServiceTest {
 protected:
  void create(const std::string& name, std::uint64_t size) {
    ASSERT_TRUE(run(service_.create_page_blob(ref(name), {}, size, 0, {})));
  }
  Result<Blob> try_write(const std::string& name, std::uint64_t offset, const std::string& text,
                         SequenceConditions wanted = {}) {
    return run(service_.put_pages(ref(name), {offset, text.size()}, upload(text), wanted, {}));
  }
  void write(const std::string& name, std::uint64_t offset, const std::string& text) {
    ASSERT_TRUE(try_write(name, offset, text));
  }
  void clear(const std::string& name, ByteRange range) {
    ASSERT_TRUE(run(service_.clear_pages(ref(name), range, {}, {})));
  }
  void resize(const std::string& name, std::uint64_t size) {
    PageProperties properties;
    properties.size = size;
    ASSERT_TRUE(run(service_.set_page_properties(ref(name), properties, {})));
  }
  /// Makes a blob of which every second page has an extent, all with one payload.
  void scatter(const std::string& name, std::uint64_t extents) {
    create(name, 2 * extents * kPage);
    const auto bytes = content(kPage);
    kv::TransactionBody body = [&](kv::Transaction& txn) -> Result<void> {
      auto current = TRY(find_current(txn, {}, ref(name)));
      // A body may be shown the contents before the latest write.
      if (!current.blob) return fail(ErrorCode::kBlobNotFound);
      TRY(own_content(txn, Ids(0), current.blob->content, current.blob->size));
      const auto payload = TRY(settle(txn, Ids(0), {0, kPage, bytes}));
      for (std::uint64_t i = 0; i < extents; ++i) {
        put_extent(txn, current.blob->content.id, {2 * i * kPage, kPage, payload, 0, {}}, 0);
        if (i > 0) TRY(share_payload(txn, payload));
      }
      txn.put(blob_keys::blob(current.generation, name), records::kBlob.encode(*current.blob));
      return {};
    };
    ASSERT_TRUE(run(engine_->transact(body)));
  }
  static BlobRef snapshot_ref(const std::string& name, Stamp version) {
    auto of = ref(name);
    of.snapshot = version;
    return of;
  }
  std::string text_of(const BlobRef& which) {
    const auto opened = service_.open_blob(which, {});
    return *drain(opened->read(0, opened->blob.size));
  }
  /// Returns all pages of the answer, a few ranges each.
  std::vector<ChangedRange> ranges_of(const BlobRef& which, PageRangesRequest request = {}) {
    std::vector<ChangedRange> found;
    request.limit = 1 + random_->below(5);
    while (true) {
      const auto page = service_.get_page_ranges(which, request, {});
      EXPECT_TRUE(page);
      EXPECT_LE(page->ranges.size(), request.limit);
      found.insert(found.end(), page->ranges.begin(), page->ranges.end());
      if (!page->next) return found;
      EXPECT_GT(*page->next, request.from);
      request.from = *page->next;
    }
  }
  std::uint64_t most_fragments(const std::string& name) {
    const auto blob = service_.get_blob(ref(name), {});
    std::map<std::uint64_t, std::uint64_t> cells;
    for (const auto& extent : *read_extents(*engine_->snapshot(), blob->content, blob->size, 0, 1'000'000)) {
      for (auto cell = cell_of(extent.start).offset; cell < end_of(extent); cell += kCellBytes) ++cells[cell];
    }
    std::uint64_t most = 0;
    for (const auto& cell : cells) most = std::max(most, cell.second);
    return most;
  }
  void expect_nothing_left_over() {
    ASSERT_TRUE(run(service_.collector().collect()));
    EXPECT_EQ(stored_payloads(), referenced_payloads());
    EXPECT_TRUE(keys_of('D').empty());
    EXPECT_TRUE(keys_of('Q').empty());
  }
};

TEST_F(PageBlobTest, RandomHistoriesAgreeWithByteArrays) {
  constexpr std::uint64_t kMostPages = 3000;
  std::map<std::uint64_t, std::pair<Model, int>> snapshots;  // by version, with the time
  Model now;
  create("p", 1024 * kPage);
  now.resize(1024 * kPage);
  for (int when = 1; when <= 500; ++when) {
    const auto pages = now.pages.size();
    const auto first = random_->below(pages);
    const auto most = random_->below(20) == 0 ? kMostPages : random_->below(3) == 0 ? 600UL : 8UL;
    const ByteRange range{first * kPage, (1 + random_->below(std::min(most, pages - first))) * kPage};
    switch (random_->below(12)) {
      case 0: {
        const auto size = (1 + random_->below(kMostPages)) * kPage;
        resize("p", size);
        now.resize(size);
        break;
      }
      case 1:
        snapshots[snapshot("p").ticks] = {now, when};
        break;
      case 2:
        if (snapshots.empty()) break;
        drop_snapshot("p", Stamp{snapshots.begin()->first});
        snapshots.erase(snapshots.begin());
        break;
      case 3:
      case 4:
        clear("p", range);
        now.write(range, "", when);
        break;
      default: {
        const auto text = content(range.length);
        write("p", range.offset, text);
        now.write(range, text, when);
      }
    }
    if (when % 25 != 0) continue;
    ASSERT_EQ(text_of(ref("p")), now.bytes) << when;
    ASSERT_EQ(ranges_of(ref("p")), now.ranges()) << when;
    for (const auto& [version, kept] : snapshots) {
      ASSERT_EQ(text_of(snapshot_ref("p", Stamp{version})), kept.first.bytes);
      ASSERT_EQ(ranges_of(snapshot_ref("p", Stamp{version})), kept.first.ranges());
    }
    expect_nothing_left_over();
  }
  for (const auto& entry : snapshots) drop_snapshot("p", Stamp{entry.first});
  ASSERT_TRUE(run(service_.delete_blob(ref("p"), DeleteSnapshots::kNone, {})));
  expect_nothing_left_over();
  EXPECT_EQ(keys_of('X').size(), 0U);
}

TEST_F(PageBlobTest, DifferencesAreWhatWasWrittenAndClearedSince) {
  constexpr std::uint64_t kPages = 200;
  for (int history = 0; history < 30; ++history) {
    const auto name = "d" + std::to_string(history);
    create(name, kPages * kPage);
    Model now;
    now.resize(kPages * kPage);
    const auto change = [&](int when) {
      const auto first = random_->below(kPages);
      const ByteRange range{first * kPage, (1 + random_->below(std::min(kPages - first, 9UL))) * kPage};
      const auto text = random_->below(3) == 0 ? std::string() : content(range.length);
      if (text.empty()) clear(name, range);
      if (!text.empty()) write(name, range.offset, text);
      now.write(range, text, when);
    };
    for (int i = 0; i < 20; ++i) change(1);
    const auto before = now;
    PageRangesRequest since;
    since.previous = snapshot(name);
    EXPECT_EQ(ranges_of(ref(name), since), std::vector<ChangedRange>());
    for (int i = 0; i < 5; ++i) change(2);
    std::vector<ChangedRange> expected;
    for (std::uint64_t page = 0; page < kPages; ++page) {
      const bool was_there = before.pages[page];
      if (now.changed[page] != 2 || (!was_there && !now.pages[page])) continue;
      add_range(expected, {page * kPage, kPage, !now.pages[page]});
    }
    EXPECT_EQ(ranges_of(ref(name), since), expected) << history;
  }
}

TEST_F(PageBlobTest, SmallWritesDoNotBreakACellIntoManyFragments) {
  create("p", 4 * kCellBytes);
  std::string expected = content(4 * kCellBytes);
  write("p", 0, expected);  // a file
  for (int i = 0; i < 1500; ++i) {
    const auto offset = random_->below(expected.size() / kPage) * kPage;
    const auto text = content(kPage);
    write("p", offset, text);
    expected.replace(offset, kPage, text);
    ASSERT_LE(most_fragments("p"), kMaxCellFragments);
  }
  EXPECT_EQ(text_of(ref("p")), expected);
  expect_nothing_left_over();
}

TEST_F(PageBlobTest, AReaderSeesTheBlobAsItWasWhateverIsWrittenMeanwhile) {
  create("p", 4 * kCellBytes);
  const auto old = content(4 * kCellBytes);
  write("p", 0, old);
  for (const bool shared : {false, true}) {
    const auto before = text_of(ref("p"));
    const auto taken = shared ? std::optional(snapshot("p")) : std::nullopt;
    if (shared) write("p", 0, content(kPage));  // it has its own extents from here on
    const auto expected = text_of(ref("p"));
    auto opened = service_.open_blob(ref("p"), {});
    write("p", 0, content(4 * kCellBytes));
    if (taken) drop_snapshot("p", *taken);
    ASSERT_TRUE(run(service_.collector().collect()));
    const auto read = drain(opened->read(0, opened->blob.size));
    ASSERT_TRUE(read);
    EXPECT_EQ(*read, expected);
    opened = fail(ErrorCode::kCancelled);
    run_background();
    expect_nothing_left_over();
    EXPECT_EQ(files_.paths().size(), 1U);
  }
}

TEST_F(PageBlobTest, WhatNoReaderSeesGoesWhileOthersRead) {
  create("p", 4 * kCellBytes);
  write("p", 0, content(4 * kCellBytes));
  const auto first = text_of(ref("p"));
  auto slow = service_.open_blob(ref("p"), {});
  for (int i = 0; i < 4; ++i) write("p", 0, content(4 * kCellBytes));
  auto before = service_.open_blob(ref("p"), {});
  for (int i = 0; i < 4; ++i) {
    write("p", 0, content(4 * kCellBytes));
    before = service_.open_blob(ref("p"), {});  // there is always one
    run_background();
  }
  EXPECT_EQ(files_.paths().size(), 2U) << "what the slow one sees, and what is there now";
  EXPECT_EQ(*drain(slow->read(0, slow->blob.size)), first);
  slow = fail(ErrorCode::kCancelled);
  run_background();
  EXPECT_EQ(files_.paths().size(), 1U);
  const auto last = text_of(ref("p"));
  write("p", 0, content(4 * kCellBytes));
  EXPECT_EQ(*drain(before->read(0, before->blob.size)), last);
  before = fail(ErrorCode::kCancelled);
  run_background();
  expect_nothing_left_over();
}

TEST_F(PageBlobTest, HoweverMuchWaitsForAReaderWhatDiesGoes) {
  constexpr std::uint64_t kWaiting = 3000;
  create("p", 4 * kCellBytes);
  write("p", 0, content(4 * kCellBytes));
  auto reader = service_.open_blob(ref("p"), {});
  kv::TransactionBody bury = [&](kv::Transaction& txn) -> Result<void> {
    for (std::uint64_t i = 0; i < kWaiting; ++i) {
      TRY(release_after_readers(txn, Ids(0), {1}, reader->blob.content.id));
    }
    return {};
  };
  ASSERT_TRUE(run(engine_->transact(bury)));
  collect();
  ASSERT_EQ(keys_of('D').size(), kWaiting);
  put("b", content(4 * kCellBytes));
  ASSERT_TRUE(run(service_.delete_blob(ref("b"), DeleteSnapshots::kNone, {})));
  for (int passes = 0; passes < 3; ++passes) collect();
  EXPECT_EQ(files_.paths().size(), 1U);
  EXPECT_EQ(keys_of('D').size(), kWaiting);
  reader = fail(ErrorCode::kCancelled);
  run_background();
  expect_nothing_left_over();
}

TEST_F(PageBlobTest, SequenceNumbersAreConditionsOfWrites) {
  ASSERT_TRUE(run(service_.create_page_blob(ref("p"), {}, 4096, 7, {})));
  const std::string page(kPage, 'x');
  EXPECT_TRUE(try_write("p", 0, page, {.at_most = 7, .below = 8, .equal = 7}));
  for (const auto& wanted : {SequenceConditions{.at_most = 6}, {.below = 7}, {.equal = 8}}) {
    EXPECT_TRUE(try_write("p", 0, page, wanted).failed_with(ErrorCode::kSequenceNumberConditionNotMet));
    EXPECT_TRUE(run(service_.clear_pages(ref("p"), {0, kPage}, wanted, {}))
                    .failed_with(ErrorCode::kSequenceNumberConditionNotMet));
  }
  const auto sequence = [&](SequenceAction action, std::uint64_t number) {
    PageProperties properties;
    properties.sequence = SequenceChange{action, number};
    return run(service_.set_page_properties(ref("p"), properties, {}))->sequence_number;
  };
  EXPECT_EQ(sequence(SequenceAction::kMax, 5), 7U);
  EXPECT_EQ(sequence(SequenceAction::kMax, 9), 9U);
  EXPECT_EQ(sequence(SequenceAction::kUpdate, 3), 3U);
  EXPECT_EQ(sequence(SequenceAction::kIncrement, 0), 4U);
}

TEST_F(PageBlobTest, WhatIsBehindTheEndOrOfAnotherTypeIsRefused) {
  create("p", 1024);
  put("b", "text");
  EXPECT_TRUE(try_write("p", 512, std::string(1024, 'x')).failed_with(ErrorCode::kInvalidPageRange));
  EXPECT_TRUE(run(service_.clear_pages(ref("p"), {1024, 512}, {}, {})).failed_with(ErrorCode::kInvalidPageRange));
  EXPECT_TRUE(try_write("b", 0, std::string(512, 'x')).failed_with(ErrorCode::kInvalidBlobType));
  EXPECT_TRUE(try_write("missing", 0, std::string(512, 'x')).failed_with(ErrorCode::kBlobNotFound));
  EXPECT_TRUE(run(service_.set_page_properties(ref("b"), {}, {})).failed_with(ErrorCode::kInvalidBlobType));
  EXPECT_TRUE(service_.get_page_ranges(ref("b"), {}, {}).failed_with(ErrorCode::kInvalidBlobType));
  EXPECT_TRUE(run(service_.append_block(ref("p"), upload("x"), {}, {})).failed_with(ErrorCode::kInvalidBlobType));
  EXPECT_TRUE(run(service_.put_block(ref("p"), "MQ==", upload("x"))).failed_with(ErrorCode::kInvalidBlobType));
  EXPECT_TRUE(service_.get_block_lists(ref("p")).failed_with(ErrorCode::kInvalidBlobType));
  PageRangesRequest since;
  since.previous = Stamp{1};
  EXPECT_TRUE(service_.get_page_ranges(ref("p"), since, {}).failed_with(ErrorCode::kPreviousSnapshotNotFound));
}

TEST_F(PageBlobTest, ASparseBlobOfAnySizeCostsNothing) {
  create("p", kMaxPageBlob);
  const auto page = content(kPage);
  write("p", kMaxPageBlob - kPage, page);
  EXPECT_EQ(*read("p", kMaxPageBlob - 2 * kPage, 2 * kPage), std::string(kPage, '\0') + page);
  EXPECT_EQ(ranges_of(ref("p")), (std::vector<ChangedRange>{{kMaxPageBlob - kPage, kPage, false}}));
  EXPECT_EQ(keys_of('X').size(), 1U);
  clear("p", {0, kMaxPageBlob});
  EXPECT_TRUE(ranges_of(ref("p")).empty());
  expect_nothing_left_over();
  EXPECT_EQ(keys_of('X').size(), 0U);
}

TEST_F(PageBlobTest, AClearOfManyExtentsIsDoneInSteps) {
  constexpr std::uint64_t kExtents = 40'000;
  scatter("p", kExtents);
  clear("p", {0, (2 * kExtents - 2) * kPage});
  EXPECT_EQ(ranges_of(ref("p")), (std::vector<ChangedRange>{{(2 * kExtents - 2) * kPage, kPage, false}}));
  resize("p", kPage);
  EXPECT_EQ(text_of(ref("p")), std::string(kPage, '\0'));
  expect_nothing_left_over();
  EXPECT_EQ(keys_of('X').size(), 0U);
}

TEST_F(PageBlobTest, WhatNobodyCouldMakeHisOwnIsNotShared) {
  scatter("small", 1000);
  scatter("large", kMaxSharedExtents + 1);
  EXPECT_TRUE(run(service_.snapshot_blob(ref("small"), {}, {})));
  EXPECT_TRUE(run(service_.snapshot_blob(ref("large"), {}, {})).failed_with(ErrorCode::kSnapshotOperationRateExceeded));
  CopyRequest copy;
  copy.source = ref("large");
  EXPECT_TRUE(run(service_.copy_blob(copy, ref("c"), {})).failed_with(ErrorCode::kSnapshotOperationRateExceeded));
}

TEST_F(PageBlobTest, ACopyHasItsOwnPages) {
  create("p", 8 * kPage);
  const auto page = content(kPage);
  write("p", kPage, page);
  CopyRequest copy;
  copy.source = ref("p");
  ASSERT_TRUE(run(service_.copy_blob(copy, ref("c"), {})));
  write("c", 0, content(kPage));
  clear("p", {kPage, kPage});
  EXPECT_EQ(ranges_of(ref("c")), (std::vector<ChangedRange>{{0, 2 * kPage, false}}));
  EXPECT_EQ(*read("c", kPage, kPage), page);
  EXPECT_TRUE(ranges_of(ref("p")).empty());
  expect_nothing_left_over();
}

TEST_F(PageBlobTest, NoBlockBlobIsMadeOfPages) {
  create("p", 8 * kPage);
  CopyRequest copy;
  copy.source = ref("p");
  copy.as_new_block_blob = true;
  EXPECT_TRUE(run(service_.copy_blob(copy, ref("c"), {})).failed_with(ErrorCode::kInvalidBlobType));
}

TEST_F(PageBlobTest, RangesOfAPart) {
  create("p", 100 * kPage);
  write("p", 2 * kPage, content(4 * kPage));
  PageRangesRequest part;
  part.range = ByteRange{3 * kPage + 5, 10};
  EXPECT_EQ(ranges_of(ref("p"), part), (std::vector<ChangedRange>{{3 * kPage, kPage, false}}));
  part.range = ByteRange{5 * kPage, std::numeric_limits<std::uint64_t>::max() - 5 * kPage};
  EXPECT_EQ(ranges_of(ref("p"), part), (std::vector<ChangedRange>{{5 * kPage, kPage, false}}));
  part.range = ByteRange{100 * kPage, kPage};
  EXPECT_TRUE(service_.get_page_ranges(ref("p"), part, {}).failed_with(ErrorCode::kInvalidRange));
}

}  // namespace
}  // namespace tidemark::blob_store
