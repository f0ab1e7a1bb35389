// Indexes as rows of a table: the writes of persons and owners, and races between several of them.
#include <gmock/gmock.h>

#include "indexes/store/declare.h"
#include "tests/unit/indexes_fixture.h"

namespace tidemark::indexes {
namespace {

using table_store::change;
using table_store::MutationKind;
using ::testing::HasSubstr;

Definition lists_json(const std::string& source, const std::string& destination) {
  const auto text = R"({"kind":"lists","by":["X"],"source":")" + source + R"(","destination":")" + destination + "\"}";
  return *parse_definition(std::string_view(text));
}

using IndexStoreTest = IndexFixture;

TEST_F(IndexStoreTest, NothingIsThereBeforeTheFirst) {
  EXPECT_TRUE(run_task(store.all())->empty());
  EXPECT_FALSE(run_task(store.find("a"))->has_value());
  EXPECT_EQ(*run_task(store.changes()), 0);
  EXPECT_TRUE(run_task(store.ask("a", {.paused = true})).failed_with(ErrorCode::kIndexNotFound));
  EXPECT_FALSE(run_task(store.progress("a-1"))->has_value());
}

TEST_F(IndexStoreTest, TheSameDefinitionAgainIsTheSameIndex) {
  const auto index = put("a", lists_json("Abc", "Def"));
  EXPECT_TRUE(index.id.starts_with("a-"));
  const auto again = run_task(store.put("a", lists_json("Abc", "Def")));
  ASSERT_TRUE(again);
  EXPECT_FALSE(again->created);
  EXPECT_EQ(again->index.id, index.id);
  const auto other = run_task(store.put("a", lists_json("Abc", "Ghi")));
  ASSERT_TRUE(other.failed_with(ErrorCode::kIndexInvalid));
  EXPECT_THAT(other.error().message, HasSubstr("drop it first"));
  EXPECT_EQ(run_task(store.all())->size(), 1U);
}

TEST_F(IndexStoreTest, WishesAreKeptAndTold) {
  put("a", lists_json("Abc", "Def"));
  const auto before = *run_task(store.changes());
  auto index = *run_task(store.ask("a", {.paused = true}));
  EXPECT_TRUE(index.paused);
  const auto told = *run_task(store.changes());
  EXPECT_GT(told, before);
  EXPECT_TRUE(run_task(store.ask("a", {.paused = true})));
  EXPECT_EQ(*run_task(store.changes()), told) << "nothing was changed";
  EXPECT_TRUE(run_task(store.ask("a", {.paused = false, .rebuild = true})));
  EXPECT_TRUE(run_task(store.ask("a", {.rebuild = true, .scrub = true})));
  index = **run_task(store.find("a"));
  EXPECT_FALSE(index.paused);
  EXPECT_EQ(index.rebuilds_asked, 2);
  EXPECT_EQ(index.scrubs_asked, 1);
  EXPECT_TRUE(run_task(store.ask("a", {.drop = true}))->dropping);
  EXPECT_TRUE(run_task(store.ask("a", {.drop = true}))) << "it may be asked for again";
  EXPECT_TRUE(run_task(store.ask("a", {.scrub = true})).failed_with(ErrorCode::kIndexInvalid));
  EXPECT_TRUE(run_task(store.put("a", lists_json("Abc", "Def"))).failed_with(ErrorCode::kIndexInvalid));
}

TEST_F(IndexStoreTest, AWishMeetsAnother) {
  put("a", lists_json("Abc", "Def"));
  bool raced = false;
  loopback.before = [&](const std::string& method, Duration) {
    if (method != "table.mutate" || std::exchange(raced, true)) return;
    ASSERT_TRUE(run_task(store.ask("a", {.scrub = true})));
  };
  ASSERT_TRUE(run_task(store.ask("a", {.rebuild = true})));
  const auto index = **run_task(store.find("a"));
  EXPECT_TRUE(raced);
  EXPECT_EQ(index.rebuilds_asked, 1);
  EXPECT_EQ(index.scrubs_asked, 1);
}

TEST_F(IndexStoreTest, RowsOfOthersDoNotHideIndexes) {
  put("b", lists_json("Abc", "Def"));
  put("a", lists_json("Abc", "Ghi"));
  ASSERT_TRUE(run_task(tables.mutate(std::string(kIndexTable), "definitions",
                                     {change(MutationKind::kInsert, "aa", {{"Definition", "{}"}})}, std::nullopt)));
  const auto all = *run_task(store.all());
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].name, "a");
  EXPECT_EQ(all[1].definition, lists_json("Abc", "Def"));
}

TEST_F(IndexStoreTest, OnlyTheLatestOwnerWrites) {
  const auto index = put("a", lists_json("Abc", "Def"));
  auto mine = *run_task(store.owner(index.id));
  EXPECT_EQ(mine.version, 0);
  auto theirs = mine;
  mine = {"w1", 1, 0, mine.version};
  EXPECT_TRUE(*run_task(store.swap_owner(index.id, mine)));
  theirs = {"w2", 1, 0, theirs.version};
  EXPECT_FALSE(*run_task(store.swap_owner(index.id, theirs)));
  EXPECT_EQ(run_task(store.owner(index.id))->worker, "w1");
  mine.beat = 1;
  EXPECT_TRUE(*run_task(store.swap_owner(index.id, mine)));

  Progress progress;
  progress.state = kReady;
  progress.position = 77;
  ASSERT_TRUE(run_task(tables.open_operation(index.id, 2, 0)));
  EXPECT_TRUE(run_task(store.write_progress(index.id, progress, {index.id, 1, "", 0})).failed_with(ErrorCode::kFenced));
  ASSERT_TRUE(run_task(store.write_progress(index.id, progress, {index.id, 2, "", 0})));
  const auto found = *run_task(store.progress(index.id));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->state, kReady);
  EXPECT_EQ(found->position, 77);
  EXPECT_GT(found->version, 0);
  EXPECT_EQ(run_task(store.all_progress())->front().first, index.id);
}

TEST_F(IndexStoreTest, ADroppedIndexLeavesNothing) {
  const auto index = put("a", lists_json("Abc", "Def"));
  auto owner = *run_task(store.owner(index.id));
  owner.worker = "w";
  ASSERT_TRUE(*run_task(store.swap_owner(index.id, owner)));
  ASSERT_TRUE(run_task(store.write_progress(index.id, {}, {index.id, 1, "", 0})));
  ASSERT_TRUE(run_task(store.forget(index)));
  ASSERT_TRUE(run_task(store.forget(index))) << "again, after a crash";
  EXPECT_NE(run_task(store.owner(index.id))->version, 0);
  ASSERT_TRUE(run_task(store.forget_owner(index.id)));
  EXPECT_TRUE(run_task(store.all())->empty());
  EXPECT_TRUE(run_task(store.all_progress())->empty());
  EXPECT_EQ(run_task(store.owner(index.id))->version, 0);
  const auto next = put("a", lists_json("Abc", "Ghi"));
  EXPECT_NE(next.id, index.id);
  ASSERT_TRUE(run_task(store.forget(index))) << "a late one";
  EXPECT_EQ((*run_task(store.find("a")))->id, next.id);
}

/// Passes calls on, and can repeat them.
class Repeater final : public rpc::Transport {
 public:
  explicit Repeater(rpc::Transport& to) : to_(to) {}
  Task<Result<std::string>> call(std::string method, std::string payload, Duration deadline) override {
    calls_.emplace_back(method, payload);
    return to_.call(std::move(method), std::move(payload), deadline);
  }
  void repeat_all() {
    for (const auto& [method, payload] : calls_) std::ignore = run_task(to_.call(method, payload, Duration::zero()));
  }

 private:
  rpc::Transport& to_;
  std::vector<std::pair<std::string, std::string>> calls_;
};

TEST_F(IndexStoreTest, ADeclarationThatComesTwiceBringsNoIndexBack) {
  Repeater repeater(loopback);
  table_store::TableClient repeated(repeater, "acct");
  IndexStore declaring(repeated, clock, *random);
  const auto stored = run_task(declaring.put("a", lists_json("Abc", "Def")));
  ASSERT_TRUE(stored) << stored.error().message;
  const auto& id = stored->index.id;
  ASSERT_TRUE(run_task(store.ask("a", {.drop = true})));
  // The index is dropped as its owner would do it.
  constexpr std::uint64_t kEpoch = 1ULL << 32;
  ASSERT_TRUE(run_task(tables.open_operation("index/" + id, kEpoch, 0)));
  ASSERT_TRUE(run_task(store.forget(stored->index)));
  repeater.repeat_all();
  EXPECT_FALSE(run_task(store.find("a"))->has_value());
  ASSERT_TRUE(run_task(tables.close_operation("index/" + id, kEpoch, 0)));
  repeater.repeat_all();
  EXPECT_FALSE(run_task(store.find("a"))->has_value());
}

TEST_F(IndexStoreTest, DeclarationLooksAtTheTables) {
  ASSERT_TRUE(run_task(tables.create_table("Abc")));
  ASSERT_TRUE(run_task(tables.create_table("Full")));
  ASSERT_TRUE(run_task(tables.mutate("Full", "p", {change(MutationKind::kInsert, "r")}, std::nullopt)));
  const auto refusal = run_task(declare(tables, nullptr, store, "a", lists_json("Nowhere", "Full")));
  ASSERT_TRUE(refusal.failed_with(ErrorCode::kIndexInvalid));
  ASSERT_EQ(refusal.error().fields.size(), 2U);
  EXPECT_THAT(refusal.error().message, HasSubstr("there is no table Nowhere"));
  EXPECT_THAT(refusal.error().message, HasSubstr("holds rows that are not of an index"));
  EXPECT_TRUE(run_task(store.all())->empty());
  EXPECT_TRUE(run_task(declare(tables, nullptr, store, "a", lists_json("Abc", "Def")))->created);
  EXPECT_FALSE(run_task(declare(tables, nullptr, store, "a", lists_json("Abc", "Def")))->created);
  EXPECT_TRUE(
      run_task(declare(tables, nullptr, store, "b", lists_json("Abc", "Def"))).failed_with(ErrorCode::kIndexInvalid));
}

TEST_F(IndexStoreTest, OfTwoThatCannotBeTogetherAtMostOneStays) {
  ASSERT_TRUE(run_task(tables.create_table("Abc")));
  bool raced = false;
  loopback.before = [&](const std::string& method, Duration) {
    if (method != "table.mutate" || std::exchange(raced, true)) return;
    ASSERT_TRUE(run_task(declare(tables, nullptr, store, "b", lists_json("Abc", "Def"))));
  };
  EXPECT_TRUE(
      run_task(declare(tables, nullptr, store, "a", lists_json("Abc", "Def"))).failed_with(ErrorCode::kIndexInvalid));
  EXPECT_TRUE((*run_task(store.find("a")))->dropping);
  EXPECT_FALSE((*run_task(store.find("b")))->dropping);
}

}  // namespace
}  // namespace tidemark::indexes
