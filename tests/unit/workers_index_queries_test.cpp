// Queries of the table store that use an index's lists: however far the index has got by then, their answers equal
// those of a walk over the table.
#include <gmock/gmock.h>

#include "index_rows_fixture.h"

namespace tidemark::workers {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char* kColourLists =
    R"({"kind":"lists","source":"Source","by":["Colour"],"destination":"Colours","answersQueries":true})";

class IndexQueries : public IndexRowsFixture {
 protected:
  struct Found {
    std::vector<std::string> entities;
    std::set<std::string> by;  // the indexes; empty for a walk
    std::uint64_t searched = 0;
  };
  /// Reads all pages.
  Found query(const std::string& filter, bool by_lists, std::uint32_t top = 1000) {
    Found found;
    table_store::QueryRequest request;
    request.table = "Source";
    request.filter = filter;
    request.by_lists = by_lists;
    request.top = top;
    do {
      auto page = run_beside(tables_.query(request));
      EXPECT_TRUE(page.has_value()) << page.error().message;
      if (!page) break;
      for (const auto& entity : page->entities) {
        found.entities.push_back(entity.partition_key + "/" + entity.row_key + "@" + std::to_string(entity.version));
      }
      found.by.insert(page->index);
      found.searched += page->searched;
      request.continuation = page->continuation;
    } while (!request.continuation.empty());
    return found;
  }
  Found expect_same(const std::string& filter, std::uint32_t top = 1000) {
    auto found = query(filter, true, top);
    EXPECT_EQ(found.entities, query(filter, false, top).entities) << filter;
    return found;
  }
  std::set<std::string> used(const std::string& filter) { return expect_same(filter).by; }
  void put_some(int count) {
    for (int i = 0; i < count; ++i) {
      write(entity("r" + std::to_string(i), i % 10 == 0 ? "red" : "blue", i), "p" + std::to_string(i % 3));
    }
  }
};

TEST_F(IndexQueries, ReadOnlyWhatTheListsHave) {
  put_some(60);
  start_keeper("one");
  const auto index = declare("by-colour", kColourLists);
  wait_until_ready(index);
  const auto found = expect_same("Colour eq 'red'");
  EXPECT_EQ(found.entities.size(), 6U);
  EXPECT_EQ(found.searched, 6U);
  EXPECT_THAT(found.by, ElementsAre("by-colour"));
  EXPECT_THAT(used("Colour eq 'red' and Size gt 20"), ElementsAre("by-colour"));
  EXPECT_THAT(used("(Colour eq 'red' or Colour eq 'green') and PartitionKey eq 'p0'"), ElementsAre("by-colour"));
  EXPECT_THAT(used("Colour eq 'nobody'"), ElementsAre("by-colour"));
  EXPECT_EQ(expect_same("PartitionKey eq 'p0' and Colour eq 'red'").searched, 2U) << "by keys and by lists";
  for (const auto* filter : {"Colour ne 'red'", "Colour ge 'red'", "not (Colour eq 'blue')", "Size eq 10", "",
                             "Colour eq 'red' or Size eq 1"}) {
    EXPECT_THAT(used(filter), ElementsAre("")) << filter;
  }
  EXPECT_THAT(used("PartitionKey eq 'p0' and RowKey eq 'r0' and Colour eq 'red'"), ElementsAre("")) << "it is one get";
}

TEST_F(IndexQueries, GoOnPageByPage) {
  put_some(60);
  start_keeper("one");
  wait_until_ready(declare("by-colour", kColourLists));
  for (const std::uint32_t top : {1U, 2U, 5U, 6U, 7U}) {
    const auto found = expect_same("Colour eq 'red'", top);
    EXPECT_EQ(found.entities.size(), 6U) << top;
    EXPECT_THAT(found.by, ElementsAre("by-colour")) << top;
  }
}

TEST_F(IndexQueries, SeeWritesThatTheIndexHasNot) {
  put_some(30);
  start_keeper("one");
  const auto index = declare("by-colour", kColourLists);
  wait_until_ready(index);
  ask("by-colour", {.paused = true});
  drive_until([&] { return run_beside(store_.find("by-colour"))->value().paused; });
  write(entity("r0", "blue", 0), "p0");
  write(entity("new", "red", 1), "p9");
  auto gone = entity("r10", "", -1);
  gone.kind = MutationKind::kErase;
  write(gone, "p1");
  EXPECT_THAT(used("Colour eq 'red'"), ElementsAre("by-colour"));
  EXPECT_EQ(query("Colour eq 'red'", true).entities.size(), 2U);
  for (int i = 0; i < 6'000; i += 100) {
    std::vector<Mutation> some;
    for (int j = i; j < i + 100; ++j) some.push_back(entity("r" + std::to_string(j), "red", j));
    ASSERT_TRUE(run_beside(tables_.mutate("Source", "q", std::move(some), std::nullopt)).has_value());
  }
  EXPECT_THAT(used("Colour eq 'red'"), ElementsAre("")) << "too many changes wait";
}

TEST_F(IndexQueries, OnlyIfTheIndexIsToAnswer) {
  put_some(30);
  start_keeper("one");
  const auto index =
      declare("by-colour", R"({"kind":"lists","source":"Source","by":["Colour"],"destination":"Colours"})");
  wait_until_ready(index);
  EXPECT_THAT(used("Colour eq 'red'"), ElementsAre(""));
  const auto same = declare("by-colour", kColourLists);
  EXPECT_EQ(same.id, index.id) << "this can be changed";
  drive_until([&] { return used("Colour eq 'red'") == std::set<std::string>{"by-colour"}; });
  declare("by-colour", R"({"kind":"lists","source":"Source","by":["Colour"],"destination":"Colours"})");
  drive_until([&] { return used("Colour eq 'red'") == std::set<std::string>{""}; });
}

TEST_F(IndexQueries, TrustNoListsThatAreIncomplete) {
  put_some(60);
  start_keeper("one");
  const auto index = declare("by-colour", kColourLists);
  wait_until_ready(index);
  ask("by-colour", {.rebuild = true});
  drive_until([&] {
    expect_same("Colour eq 'red'");
    return progress(index).rebuilds == 1 && progress(index).state == indexes::kReady;
  });
  // A user overwrites a list: queries walk from then on.
  const auto rows = rows_in("Colours");
  const auto red = std::ranges::find(rows, "red", &Entity::partition_key);
  ASSERT_NE(red, rows.end());
  Mutation mutation;
  mutation.kind = MutationKind::kInsertOrReplace;
  mutation.row_key = red->row_key;
  mutation.properties = red->properties;
  write(std::move(mutation), red->partition_key, "Colours");
  EXPECT_THAT(used("Colour eq 'red'"), ElementsAre(""));
  EXPECT_THAT(used("Colour eq 'blue'"), ElementsAre("by-colour"));
  ASSERT_TRUE(run_beside(tables_.delete_table("Colours")).has_value());
  EXPECT_THAT(used("Colour eq 'blue'"), ElementsAre(""));
  wait_until_ready(declare("by-size", R"({"kind":"lists","source":"Source","by":["Size"],"destination":"Sizes",
      "answersQueries":true})"));
  EXPECT_THAT(used("Colour eq 'blue' and Size eq 7"), ElementsAre("by-size")) << "the next that can";
}

TEST_F(IndexQueries, LeaveLargeGroupsToAWalk) {
  const std::string long_key(450, 'x');
  const auto put_many = [&](const std::string& colour, int count) {
    for (int i = 0; i < count; i += 100) {
      std::vector<Mutation> some;
      for (int j = i; j < i + 100; ++j) some.push_back(entity(colour + long_key + std::to_string(j), colour, j));
      ASSERT_TRUE(run_beside(tables_.mutate("Source", "p", std::move(some), std::nullopt)).has_value());
    }
  };
  put_many("green", 1000);
  put_many("blue", 4700);
  start_keeper("one");
  wait_until_ready(declare("by-colour", kColourLists));
  EXPECT_GT(std::ranges::count(rows_in("Colours"), "green", &Entity::partition_key), 1) << "several pieces";
  EXPECT_THAT(used("Colour eq 'green'"), ElementsAre("by-colour"));
  EXPECT_THAT(used("Colour eq 'blue'"), ElementsAre(""));
}

/// Rows that another index makes in the table are entities to a query, and are in no list.
TEST_F(IndexQueries, FindRowsThatIndexesMakeInTheTable) {
  put_some(30);
  start_keeper("one");
  wait_until_ready(declare("by-colour", kColourLists));
  wait_until_ready(declare("in-partition", R"({"kind":"lists","source":"Source","by":["Size"],"where":"partition",
      "destination":"Source","answersQueries":true})"));
  EXPECT_THAT(used("Colour eq 'red'"), ElementsAre("by-colour")) << "rows of lists have no Colour";
  EXPECT_THAT(used("PartitionKey eq 'p1' and Size eq 10"), ElementsAre("in-partition"));
  EXPECT_THAT(used("Size eq 10"), ElementsAre("")) << "in which partition is not said";
  wait_until_ready(declare("copies", R"({"kind":"copies","source":"Source","destination":"Source",
      "partitionKey":"{PartitionKey}","rowKey":"c_{RowKey}"})"));
  EXPECT_THAT(used("Colour eq 'red'"), ElementsAre(""));
  EXPECT_EQ(query("Colour eq 'red'", true).entities.size(), 6U);
}

/// All at once: several indexes, built, rebuilt and behind, while entities change.
TEST_F(IndexQueries, AnswerAsAWalkDoesWhateverHappens) {
  start_keeper("one");
  start_keeper("two");
  const std::vector<std::string> names{"by-colour", "both", "local", "some"};
  declare("by-colour", kColourLists);
  declare("both",
          R"({"kind":"lists","source":"Source","by":["Colour","Size"],"destination":"Both","answersQueries":true})");
  declare("local", R"({"kind":"lists","source":"Source","by":["Colour"],"where":"partition","destination":"Local",
      "answersQueries":true})");
  declare("some", R"({"kind":"lists","source":"Source","by":["Size"],"destination":"Some","filter":"Colour ge 'c'",
      "answersQueries":true})");
  static const std::vector<std::string> kFilters{
      "Colour eq 'red'",
      "Colour eq 'a,b' and Size eq 3",
      "(Colour eq 'red' or Colour eq 'green') and (Size eq 2L or Size eq 4.0)",
      "PartitionKey eq 'p1' and Colour eq 'green'",
      "Colour eq 'blue' and Size eq 1",
      "Size eq 1 and Colour ge 'c' and RowKey gt 'r1'",
      "Colour eq 'red' and PartitionKey ge 'p1'",
  };
  std::map<std::string, int> used;
  for (int round = 0; round < 400; ++round) {
    write_at_random(random_->below(8));
    const auto& name = names[random_->below(names.size())];
    const auto what = random_->below(60);
    if (what == 0) ask(name, {.rebuild = true});
    if (what == 1 || what == 2) ask(name, {.paused = what == 1});
    for (int i = 0; i < 2; ++i) {
      const auto& filter = kFilters[random_->below(kFilters.size())];
      const auto top = static_cast<std::uint32_t>(1 + random_->below(20));
      for (const auto& index : expect_same(filter, top).by) ++used[index];
    }
    if (HasFailure()) return;
  }
  for (const auto& name : names) EXPECT_GT(used[name], 10) << name;
}

}  // namespace
}  // namespace tidemark::workers
