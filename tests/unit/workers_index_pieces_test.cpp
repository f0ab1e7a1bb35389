// Pieces of lists that are divided and joined. When a long list has become short, it is in few pieces.
#include "index_rows_fixture.h"
#include "workers/indexes/walk.h"

namespace tidemark::workers {
namespace {

constexpr int kKeys = 3'000;
constexpr int kLeft = 100;
constexpr std::size_t kKeyLength = 200;
constexpr std::size_t kAtOnce = 100;

class WorkersIndexPieces : public IndexRowsFixture {
 protected:
  static std::string key(int number) { return std::string(kKeyLength, 'x') + std::to_string(number); }
  void write_all(std::vector<Mutation> mutations) {
    for (std::size_t i = 0; i < mutations.size(); i += kAtOnce) {
      const auto end = std::min(mutations.size(), i + kAtOnce);
      std::vector<Mutation> some(mutations.begin() + static_cast<std::ptrdiff_t>(i),
                                 mutations.begin() + static_cast<std::ptrdiff_t>(end));
      ASSERT_TRUE(run_beside(tables_.mutate("Source", "p", std::move(some), std::nullopt)).has_value());
    }
  }
  void write_keys(const std::string& colour, int from, int to) {
    std::vector<Mutation> all;
    for (int i = from; i < to; ++i) all.push_back(entity(key(i), colour, i));
    write_all(std::move(all));
  }
  void erase_keys(int from, int to) {
    std::vector<Mutation> all;
    for (int i = from; i < to; ++i) {
      all.push_back(entity(key(i), "", -1));
      all.back().kind = MutationKind::kErase;
    }
    write_all(std::move(all));
  }
  std::vector<Entity> pieces_of(const Index& index) {
    auto rows =
        rows_in(in_blobs(index) != nullptr ? std::string(indexes::kIndexTable) : index.definition.destination());
    std::erase_if(rows, [&](const Entity& row) {
      return !row.origin || row.origin->follower != index.id || row.row_key == indexes::kSummaryRow;
    });
    return rows;
  }
  void scrub(const Index& index) {
    const auto scrubs = progress(index).scrubs;
    ask(index.name, {.scrub = true});
    drive_until([&] { return progress(index).scrubs > scrubs; });
  }
  void TearDown() override {
    IndexRowsFixture::TearDown();
    indexes::piece_units() = indexes::kPieceUnits;
  }
  std::vector<std::uint64_t> bounds_of(const Index& index) {
    std::vector<std::uint64_t> out;
    for (const auto& row : pieces_of(index)) out.push_back(*indexes::bound_of(row.row_key));
    return out;
  }
  std::vector<Index> declare_all() {
    return {
        declare("across", R"({"kind":"lists","source":"Source","by":["Colour"],"destination":"ByColour"})"),
        declare("within", R"({"kind":"lists","source":"Source","by":["Colour"],"where":"partition",
                              "destination":"Within"})"),
        declare("blobs", R"({"kind":"lists","source":"Source","by":["Colour"],"where":"blobs","container":"lists",
                             "prefix":"by-colour/"})"),
        declare("sums", R"({"kind":"summary","source":"Source","by":["Colour"],"of":"Size","destination":"Totals"})"),
        declare("unique",
                R"({"kind":"lists","source":"Source","by":["Colour"],"destination":"Unique","unique":true})")};
  }
};

TEST_F(WorkersIndexPieces, JoinAsTheyBecomeSmall) {
  write_keys("red", 0, kKeys);
  const auto all = declare_all();
  start_keeper("w1");
  for (const auto& index : all) {
    wait_until_ready(index);
    EXPECT_GE(pieces_of(index).size(), in_blobs(index) != nullptr ? 3U : 20U) << index.name;
  }
  erase_keys(kLeft, kKeys);
  for (const auto& index : all) {
    expect_true(index);
    EXPECT_LE(pieces_of(index).size(), in_blobs(index) != nullptr ? 1U : 4U) << index.name;
    EXPECT_EQ(progress(index).wrong_ever, 0U) << index.name;
  }
  write_keys("blue", 0, kLeft);
  for (const auto& index : all) {
    expect_true(index);
    for (const auto& row : pieces_of(index)) {
      EXPECT_EQ(jobs::property_or<std::string>(row, "Group"), "blue") << index.name;
    }
  }
}

/// A key that comes and goes does not make pieces be divided and joined again and again.
TEST_F(WorkersIndexPieces, StayAsTheyAreWhenLittleChanges) {
  indexes::piece_units() = 1'000;
  const auto index =
      declare("across", R"({"kind":"lists","source":"Source","by":["Colour"],"destination":"ByColour"})");
  start_keeper("w1");
  int keys = 0;
  do {
    write_keys("red", keys, keys + 1);
    ++keys;
    wait_until_ready(index);
  } while (pieces_of(index).size() == 1);
  const auto bounds = bounds_of(index);
  EXPECT_EQ(bounds.size(), 2U);
  for (int i = 0; i < 3; ++i) {
    erase_keys(keys - 1, keys);
    wait_until_ready(index);
    EXPECT_EQ(bounds_of(index), bounds);
    write_keys("red", keys - 1, keys);
    expect_true(index);
    EXPECT_EQ(bounds_of(index), bounds);
  }
}

TEST_F(WorkersIndexPieces, AreNeverWithoutTheLastOne) {
  const auto last_bound = indexes::ListPiece{}.bound;
  indexes::piece_units() = 1'000;
  const std::vector<Index> all = {
      declare("across", R"({"kind":"lists","source":"Source","by":["Colour"],"destination":"ByColour"})"),
      declare("sums", R"({"kind":"summary","source":"Source","by":["Colour"],"of":"Size","destination":"Totals"})")};
  start_keeper("w1");
  write_keys("red", 0, kLeft);
  for (const auto& index : all) wait_until_ready(index);
  // The pieces before the last one are too large to be joined with one another.
  for (int round = 0; round < 3; ++round) {
    const auto last = indexes::read_piece(pieces_of(all.front()).back());
    ASSERT_TRUE(last && last->bound == last_bound);
    std::vector<Mutation> erasures;
    for (const auto& entry : last->entries) {
      erasures.push_back(entity(entry.row_key, "", -1));
      erasures.back().kind = MutationKind::kErase;
    }
    write_all(std::move(erasures));
    for (const auto& index : all) {
      expect_true(index);
      EXPECT_EQ(bounds_of(index).back(), last_bound) << index.name;
    }
  }
}

/// Each of these groups takes several searches, and the number of searches in a call is limited.
TEST_F(WorkersIndexPieces, OfManyGroupsBecomeSmallAtOnce) {
  constexpr int kGroups = 700;
  const auto write_groups = [this](const std::string& colours) {
    std::vector<Mutation> all;
    for (int i = 0; i < kGroups; ++i) all.push_back(entity(std::to_string(i), colours + std::to_string(i), i));
    write_all(std::move(all));
  };
  const std::vector<Index> all = {
      declare("sums", R"({"kind":"summary","source":"Source","by":["Colour"],"of":"Size","destination":"Totals"})"),
      declare("unique", R"({"kind":"lists","source":"Source","by":["Colour"],"destination":"Unique","unique":true})")};
  write_groups("red");
  start_keeper("w1");
  for (const auto& index : all) wait_until_ready(index);
  run_beside(keepers_.back()->stop());
  write_groups("blue");
  start_keeper("w2");
  for (const auto& index : all) {
    expect_true(index);
    EXPECT_EQ(progress(index).wrong_ever, 0U) << index.name;
  }
}

/// The entities are gone, and new ones divide pieces between two pages of the walk.
TEST_F(WorkersIndexPieces, AreWalkedThroughThoughTheyAreDividedMeanwhile) {
  indexes::piece_units() = 1'000;
  const auto index =
      declare("across", R"({"kind":"lists","source":"Source","by":["Colour"],"destination":"ByColour"})");
  const auto keeper = start_keeper("w1");
  write_keys("red", 0, kLeft);
  wait_until_ready(index);
  run_beside(keeper->stop());
  erase_keys(0, kLeft);
  write_keys("red", kLeft, 4 * kLeft);

  Fences fences(indexes::operation_of(index.id), 1'000);
  auto rows = make_index_rows({tables_, *clock_, index, fences, nullptr});
  ASSERT_TRUE(rows.has_value());
  WalkRoom room(1 << 20);
  WalkReader reader(tables_, *clock_, room, 100, index, **rows);
  Walk walk;
  walk.over_rows = true;
  int pages = 0;
  do {
    auto page = run_beside(reader.deal_with_page(walk, WalkReader::Mode::kVerifying));
    ASSERT_TRUE(page.has_value()) << page.error().message;
    walk.continuation = page->continuation;
    if (pages++ > 0) continue;
    std::vector<table_store::ChangedEntity> changed;
    for (auto& each : originals()) {
      table_store::ChangedEntity entity;
      entity.partition_key = each.partition_key;
      entity.row_key = each.row_key;
      entity.now = std::move(each);
      changed.push_back(std::move(entity));
    }
    ASSERT_TRUE(run_beside((*rows)->reconcile(std::move(changed))).has_value());
  } while (!walk.continuation.empty());
  EXPECT_GT(pages, 3);
  EXPECT_EQ(actual(index), wanted(index));
}

/// The pieces are as an earlier version left them.
TEST_F(WorkersIndexPieces, JoinInAScrub) {
  const auto index =
      declare("across", R"({"kind":"lists","source":"Source","by":["Colour"],"destination":"ByColour"})");
  const auto sums =
      declare("sums", R"({"kind":"summary","source":"Source","by":["Colour"],"of":"Size","destination":"Totals"})");
  start_keeper("w1");
  for (const auto& each : {index, sums}) wait_until_ready(each);
  indexes::piece_units() = 1'000;
  write_keys("red", 0, kLeft);
  for (const auto& each : {index, sums}) {
    wait_until_ready(each);
    EXPECT_GE(pieces_of(each).size(), 20U) << each.name;
  }
  indexes::piece_units() = indexes::kPieceUnits;
  for (const auto& each : {index, sums}) {
    scrub(each);
    expect_true(each);
    EXPECT_LE(pieces_of(each).size(), 4U) << each.name;
    EXPECT_EQ(progress(each).wrong_ever, 0U) << each.name;
  }
}

}  // namespace
}  // namespace tidemark::workers
