// Lookups that trust the proof of the log and read no entities: none shows an entity that does not match, even with
// concurrent writes.
#include <gmock/gmock.h>

#include "tests/unit/index_proof_fixture.h"

namespace tidemark::indexes {
namespace {

using table_store::MutationKind;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using ::testing::UnorderedElementsAreArray;

struct ProvenLookup : IndexProof {
  void SetUp() override {
    IndexLookup::SetUp();
    index = IndexFixture::put("by-a", lists(R"("A")"));
    begin();
    for (int i = 0; i < 5; ++i) members.push_back(put("p", "r" + std::to_string(i), {{"A", std::string("x")}}));
    put_list(index, "x", members, 5);
    acknowledge();
    become(kReady);
    note_calls();
  }

  std::vector<std::string> look_up(const std::string& select, const std::string& top = "100") {
    calls.clear();
    return found(index, {{"value", "x"}, {"select", select}, {"top", top}});
  }
  /// Looks up in each of the ways.
  void expect_found(const std::vector<std::string>& wanted, std::uint64_t wanted_left_out) {
    for (const auto* select : {"keys", "entities", "A"}) {
      for (const auto* top : {"1", "2", "100"}) {
        EXPECT_THAT(look_up(select, top), UnorderedElementsAreArray(wanted)) << select << " " << top;
        EXPECT_EQ(left_out, wanted_left_out) << select << " " << top;
      }
    }
  }

  std::vector<Entity> members;
};

TEST_F(ProvenLookup, TakesOneCall) {
  const std::vector<std::string> all{"p/r0", "p/r1", "p/r2", "p/r3", "p/r4"};
  expect_found(all, 0);
  for (const auto* select : {"keys", "entities"}) {
    EXPECT_THAT(look_up(select), UnorderedElementsAreArray(all));
    EXPECT_THAT(calls, ElementsAre("table.find_listed")) << select;
  }
  put("p", "r1", {{"A", std::string("y")}});
  look_up("keys");
  EXPECT_THAT(calls, ElementsAre("table.find_listed")) << "one change waits";
}

TEST_F(ProvenLookup, LooksAtWhatHasChanged) {
  put("p", "r0", {{"A", std::string("y")}});
  erase("r1");
  put("p", "r2", {{"A", std::string("x")}, {"B", std::string("more")}});
  erase("r3");
  put("p", "r3", {{"A", std::string("x")}});
  expect_found({"p/r2", "p/r3", "p/r4"}, 2);
  // The rows follow; only then does the owner acknowledge.
  put_list(index, "x", {members[2], members[3], members[4]}, 5);
  expect_found({"p/r2", "p/r3", "p/r4"}, 0);
  acknowledge();
  expect_found({"p/r2", "p/r3", "p/r4"}, 0);
}

TEST_F(ProvenLookup, ShowsEntitiesAsTheyAre) {
  put("p", "r2", {{"A", std::string("x")}, {"B", std::string("more")}});
  const auto request = read_lookup(index.definition, {{"value", "x"}});
  auto search = make_search({tables, listings, nullptr, clock}, index, *request);
  const auto page = run_task((*search)->run());
  ASSERT_TRUE(page);
  ASSERT_EQ(page->entities.size(), 5U);
  for (const auto& found : page->entities) {
    const auto entity = **run_task(tables.get("Source", "p", found.row_key));
    EXPECT_EQ(found.version, entity.version);
    EXPECT_EQ(found.block, table_store::property_block(entity.properties));
  }
}

/// The rows may hold a state from before the log began anew.
TEST_F(ProvenLookup, TrustsNoRowsOfAnIndexThatIsNotReady) {
  put("p", "r0", {{"A", std::string("y")}});
  erase("r1");
  for (const auto state : {kStale, kBuilding, kVerifying}) {
    become(state);
    begin();
    expect_found({"p/r2", "p/r3", "p/r4"}, 2);
  }
}

TEST_F(ProvenLookup, TrustsNoRowsWithoutALog) {
  put("p", "r0", {{"A", std::string("y")}});
  ASSERT_TRUE(run_task(tables.unfollow("Source", index.id)));
  expect_found({"p/r1", "p/r2", "p/r3", "p/r4"}, 1);
}

TEST_F(ProvenLookup, TrustsNoRowsOfAFollowerThatIsStale) {
  table_store::Following following{index.id, {"A"}};
  following.max_changes = 1;
  ASSERT_TRUE(run_task(tables.follow("Source", following, false, std::nullopt, std::nullopt)));
  put("p", "r0", {{"A", std::string("y")}});
  erase("r1");
  EXPECT_TRUE(run_task(tables.followers("Source"))->front().stale);
  expect_found({"p/r2", "p/r3", "p/r4"}, 2);
}

TEST_F(ProvenLookup, FindsNothingInATableThatWasDropped) {
  ASSERT_TRUE(run_task(tables.delete_table("Source")));
  expect_found({}, 5);
  ASSERT_TRUE(run_task(tables.create_table("Source")));
  put("p", "r4", {{"A", std::string("x")}});
  expect_found({"p/r4"}, 4);
  acknowledge();
  put("p", "r3", {{"A", std::string("x")}});
  ASSERT_TRUE(run_task(tables.delete_table("Source")));
  expect_found({}, 5);
}

TEST_F(ProvenLookup, ReadsEverythingIfTooMuchWaits) {
  put("p", "r0", {{"A", std::string("y")}});
  for (int i = 0; i < 600; ++i) put("q", "other", {{"A", std::string("y")}});
  expect_found({"p/r1", "p/r2", "p/r3", "p/r4"}, 1);
}

TEST_F(ProvenLookup, GoesOnInTheNextPiece) {
  put_list(index, "x", members, 2);
  put("p", "r3", {{"A", std::string("y")}});
  expect_found({"p/r0", "p/r1", "p/r2", "p/r4"}, 1);
  EXPECT_THAT(found(index, {{"value", "nobody"}, {"select", "keys"}}), IsEmpty());
}

TEST_F(ProvenLookup, LeavesRowsAloneThatSomebodyElseWrote) {
  table_store::QueryRequest all;
  all.table = "Rows";
  const auto rows = *run_task(tables.query(all));
  ASSERT_EQ(rows.entities.size(), 1U);
  const auto& row = rows.entities.front();
  write("Rows", row.partition_key, table_store::change(MutationKind::kInsert, row.row_key, row.properties));
  expect_found({}, 0);
}

TEST_F(ProvenLookup, FindsNothingWhereNoKeyCanBe) {
  const auto local = IndexFixture::put("local", lists(R"("A")", R"(,"where":"partition")"));
  EXPECT_THAT(found(local, {{"value", "x"}, {"partition", "a/b"}}), IsEmpty());
}

}  // namespace
}  // namespace tidemark::indexes
