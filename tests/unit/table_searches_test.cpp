// Searches for rows by a lower bound, and changes of several partitions in one call; through the client, as workers do.
#include "table_changes_fixture.h"
#include "table_store/model/limits.h"
#include "tests/support/loopback.h"

namespace tidemark::table_store {
namespace {

struct TableSearchesTest : ChangesFixture {
  rpc::Loopback loopback{make_table_dispatch(*service)};
  TableClient client{loopback, "acct"};
  void SetUp() override { create("People"); }

  std::vector<std::string> find(std::vector<RowSearch> searches) {
    const auto found = run_task(client.find_rows("people", std::move(searches), {}));
    EXPECT_TRUE(found.has_value());
    std::vector<std::string> out;
    if (!found) return out;
    for (const auto& row : found->rows) out.push_back(row ? row->partition_key + "/" + row->row_key : "-");
    return out;
  }

  void expect_refused(const Selection& selection) {
    QueryRequest query;
    query.table = "people";
    query.selection = selection;
    EXPECT_TRUE(run_task(client.query(query)).failed_with(ErrorCode::kInvalidInput));
    EXPECT_TRUE(run_task(client.find_rows("people", {{"p", "", ""}}, selection)).failed_with(ErrorCode::kInvalidInput));
    EXPECT_TRUE(run_task(client.changed_entities("people", "x", {}, {}, 100, Duration(), selection))
                    .failed_with(ErrorCode::kInvalidInput));
  }
};

TEST_F(TableSearchesTest, ASearchFindsTheFirstRowWithinItsBounds) {
  for (const auto* row : {"b", "d", "d!"}) put(row, "Rome");
  put("a", "Rome", "q");
  EXPECT_EQ(find({{"p", "", ""},
                  {"p", "b", "c"},
                  {"p", "b", "b"},
                  {"p", "c", "d"},
                  {"p", "c", "e"},
                  {"p", "d!", ""},
                  {"p", "e", ""},
                  {"o", "", ""},
                  {"q", "", "b"}}),
            (std::vector<std::string>{"p/b", "p/b", "-", "-", "p/d", "p/d!", "-", "-", "q/a"}));
}

TEST_F(TableSearchesTest, ASearchPassesOverKeysOfOtherLengths) {
  for (const auto* row : {"a_1", "a_11", "a_2", "a_222", "b_3"}) put(row, "Rome");
  EXPECT_EQ(find({{"p", "a_", "b", 3}, {"p", "a_1!", "b", 3}, {"p", "a_1!", "b", 4}, {"p", "a_2!", "b", 3}}),
            (std::vector<std::string>{"p/a_1", "p/a_2", "p/a_11", "-"}));
}

TEST_F(TableSearchesTest, ASearchPassesOverSoManyRowsAndNoMore) {
  const auto name = [](int i) { return "a_" + std::to_string(10'000 + i); };
  for (int i = 0; i <= kMostPassedOver; ++i) put(name(i), "Rome");
  put("a_9", "Rome");
  EXPECT_EQ(find({{"p", "a_", "b", 3}, {"p", name(kMostPassedOver), "b", 3}}),
            (std::vector<std::string>{"p/" + name(kMostPassedOver), "p/a_9"}));
}

TEST_F(TableSearchesTest, OthersHaveTheirTurnWhileRowsArePassedOver) {
  for (int i = 0; i < kMostPassedOver; ++i) put("a_" + std::to_string(10'000 + i), "Rome");
  static constexpr std::size_t kSearches = 16;
  const auto turns_beside = [this](const RowSearch& search) {
    asio::io_context io;
    std::optional<Result<FoundRows>> found;
    asio::co_spawn(io, service->find_rows("acct", "people", std::vector<RowSearch>(kSearches, search), {}),
                   [&](const std::exception_ptr&, Result<FoundRows> rows) { found = std::move(rows); });
    std::size_t turns = 0;
    std::function<void()> other = [&] {
      ++turns;
      asio::post(io, other);
    };
    other();
    while (!found) io.poll_one();
    EXPECT_EQ((*found)->rows.size(), kSearches);
    return turns;
  };
  EXPECT_GE(turns_beside({"p", "a_", "b", 3}), kSearches);
  EXPECT_LT(turns_beside({"p", "a_", "b", 7}), kSearches / 2) << "nothing is passed over";
}

TEST_F(TableSearchesTest, ASearchFindsTheLastRowWithinItsBounds) {
  for (const auto* row : {"a_1", "a_11", "a_2", "a_222", "b_3"}) put(row, "Rome");
  put("a", "Rome", "q");
  const auto last = [](std::string from, std::string before, std::uint32_t row_key_bytes = 0) {
    return RowSearch{"p", std::move(from), std::move(before), row_key_bytes, true};
  };
  EXPECT_EQ(find({last("", ""), last("a_", "b"), last("a_", "b", 3), last("a_", "a_2", 3), last("a_", "a_1"),
                  last("a_3", "b"), last("a_1", "a_1\x01")}),
            (std::vector<std::string>{"p/b_3", "p/a_222", "p/a_2", "p/a_1", "-", "-", "p/a_1"}));
}

TEST_F(TableSearchesTest, ASearchForKeysAloneBringsNothingElse) {
  put("b", "Rome");
  for (const auto* before : {"b\x01", "c"}) {
    const auto found = run_task(client.find_rows("people", {{"p", "b", before, 0, false, true}}, {}));
    ASSERT_TRUE(found.has_value() && found->rows[0]);
    EXPECT_EQ(found->rows[0]->row_key, "b");
    EXPECT_TRUE(found->rows[0]->properties.empty());
  }
}

TEST_F(TableSearchesTest, ASearchForOneKeyFindsNoOther) {
  const std::string longest(kMaxKeyUnits, 'x');
  for (const auto& row : {std::string("b"), std::string("b!"), longest}) put(row, "Rome");
  const auto just = [](const std::string& key) { return RowSearch{"p", key, key + '\x01'}; };
  EXPECT_EQ(find({just("b"), just("a"), just("b!"), just("b "), just(longest), just("")}),
            (std::vector<std::string>{"p/b", "-", "p/b!", "-", "p/" + longest, "-"}));
}

TEST_F(TableSearchesTest, AReplyThatIsFullIsCutShort) {
  std::vector<RowSearch> searches;
  for (int i = 0; i < 12; ++i) {
    std::vector<Property> large;
    for (int n = 0; n < 15; ++n) large.push_back(text("P" + std::to_string(n), std::string(32UL << 10, 'x')));
    ASSERT_TRUE(mutate(change(kInsert, std::to_string(100 + i), large)).has_value());
    searches.push_back({"p", std::to_string(100 + i), ""});
  }
  const auto found = find(searches);
  EXPECT_GT(found.size(), 1U);
  EXPECT_LT(found.size(), 12U);
}

TEST_F(TableSearchesTest, OnlyWhatIsSelectedTravels) {
  ASSERT_TRUE(run_task(client.follow("people", following_of("x"), false, std::nullopt, std::nullopt)).has_value());
  ASSERT_TRUE(mutate(change(kInsert, "b", {text("City", "Rome"), text("Note", "long"), text("Age", "9")})).has_value());
  const Selection wanted{{"Age", "City", "Nobody"}};
  const auto names = [](const Entity& entity) {
    std::string out = entity.partition_key + "/" + entity.row_key;
    for (const auto& property : entity.properties) out += " " + property.name;
    return out;
  };
  QueryRequest query;
  query.table = "people";
  query.filter = "Note eq 'long'";
  query.selection = wanted;
  const auto page = run_task(client.query(query));
  ASSERT_TRUE(page.has_value() && page->entities.size() == 1);
  EXPECT_EQ(names(page->entities[0]), "p/b City Age");
  for (const auto* before : {"b\x01", "c"}) {
    const auto found = run_task(client.find_rows("people", {{"p", "b", before}}, wanted));
    ASSERT_TRUE(found.has_value() && found->rows[0]);
    EXPECT_EQ(names(*found->rows[0]), "p/b City Age");
  }
  const auto changes = run_task(client.changed_entities("people", "x", {}, {}, 100, Duration(), {{"Note"}}));
  ASSERT_TRUE(changes.has_value() && changes->entities.size() == 1 && changes->entities[0].now);
  EXPECT_EQ(names(*changes->entities[0].now), "p/b Note");
  const auto none = run_task(client.find_rows("people", {{"p", "b", ""}}, Selection{std::in_place}));
  EXPECT_EQ(names(*none->rows[0]), "p/b");
}

TEST_F(TableSearchesTest, ASelectionIsShortAndInOrder) {
  expect_refused({{"b", "a"}});
  expect_refused(std::vector<std::string>(kMaxProperties + 1, "a"));
}

TEST_F(TableSearchesTest, WhatIsNoSearchIsRefused) {
  const auto code = [&](std::vector<RowSearch> searches, std::string table = "people") {
    const auto found = run_task(client.find_rows(std::move(table), std::move(searches), {}));
    return found ? std::nullopt : std::optional(found.error().code);
  };
  EXPECT_EQ(code({}), ErrorCode::kInvalidInput);
  EXPECT_EQ(code(std::vector<RowSearch>(1001, RowSearch{"p", "", ""})), ErrorCode::kInvalidInput);
  EXPECT_EQ(code(std::vector<RowSearch>(1000, RowSearch{"p", "", ""})), std::nullopt);
  EXPECT_EQ(code({{"#", "", ""}}), ErrorCode::kOutOfRangeInput);
  EXPECT_EQ(code({{"p", "\xFF", ""}}), ErrorCode::kOutOfRangeInput);
  EXPECT_EQ(code({{"p", "", std::string(600, 'x')}}), ErrorCode::kOutOfRangeInput);
  EXPECT_EQ(code({{"p", "", ""}}, "nowhere"), ErrorCode::kTableNotFound);
}

TEST_F(TableSearchesTest, EachPartitionsChangesAreATransactionOfTheirOwn) {
  create("notes");
  put("there", "Rome");
  ASSERT_TRUE(run_task(client.follow("people", following_of("x"), false, std::nullopt, std::nullopt)).has_value());
  std::vector<PartitionMutations> all{
      {"people", "p", {change(kInsert, "a"), change(kErase, "there")}},
      {"people", "q", {change(kInsert, "b"), change(kErase, "nobody")}},
      {"notes", "p", {change(kInsert, "n")}},
      {"nowhere", "p", {change(kInsert, "n")}},
      {"people", "p", {change(kInsert, "bad/key")}},
      {"people", "p", {change(kMerge, "a")}},
  };
  const auto done = run_task(client.mutate_all(all, Fence{"op", 1, "changed"}));
  ASSERT_TRUE(done.has_value());
  ASSERT_EQ(done->size(), 6U);
  ASSERT_TRUE((*done)[0].has_value());
  EXPECT_EQ((*done)[0]->size(), 2U);
  EXPECT_TRUE((*done)[1].failed_with(ErrorCode::kResourceNotFound));
  EXPECT_TRUE((*done)[2].has_value());
  EXPECT_TRUE((*done)[3].failed_with(ErrorCode::kTableNotFound));
  EXPECT_TRUE((*done)[4].failed_with(ErrorCode::kOutOfRangeInput));
  EXPECT_TRUE((*done)[5].has_value());
  EXPECT_FALSE(get("b", "q"));
  EXPECT_EQ(run_task(client.read_operation("op"))->counter("changed"), 4U);
  const auto page = run_task(client.changed_entities("people", "x", {}, {}, 100, Duration(), {}));
  ASSERT_TRUE(page.has_value());
  EXPECT_EQ(told(*page), (std::vector<std::string>{"p/there [Rome] gone", "p/a [-] -"}));
  ASSERT_TRUE(run_task(client.acknowledge("people", "x", page->through)).has_value());
  EXPECT_EQ(run_task(client.followers("people"))->front().changes_behind, 0U);
  EXPECT_TRUE(
      (*run_task(client.mutate_all({{"people", "p", {change(kInsert, "c")}}}, Fence{"op", 0, ""})))[0].failed_with(
          ErrorCode::kFenced));
  EXPECT_TRUE(run_task(client.unfollow("people", "x")).has_value());
}

TEST_F(TableSearchesTest, ACallHasOneToAThousandChanges) {
  const auto code = [&](std::vector<PartitionMutations> all) {
    const auto done = run_task(client.mutate_all(std::move(all), std::nullopt));
    return done ? std::nullopt : std::optional(done.error().code);
  };
  EXPECT_EQ(code({}), ErrorCode::kInvalidInput);
  EXPECT_EQ(code({{"people", "p", {}}}), ErrorCode::kInvalidInput);
  std::vector<PartitionMutations> many(10, {"people", "p", std::vector(100, change(kInsert, "x"))});
  EXPECT_EQ(code(many), std::nullopt);
  many.push_back({"people", "q", {change(kInsert, "x")}});
  EXPECT_EQ(code(many), ErrorCode::kInvalidInput);
  many.clear();
  many.push_back({"people", "p", std::vector(101, change(kInsert, "x"))});
  EXPECT_EQ(code(many), std::nullopt);
}

TEST_F(TableSearchesTest, AQueryByFollowerTravels) {
  const Origin origin{"x", "p", "a"};
  ASSERT_TRUE(mutate(copy_of("row", 5, {}, origin)).has_value());
  put("user", "Rome");
  QueryRequest request;
  request.table = "people";
  request.follower = "x";
  const auto page = run_task(client.query(request));
  ASSERT_EQ(page->entities.size(), 1U);
  EXPECT_EQ(page->entities[0].origin, origin);
  ASSERT_TRUE(run_task(client.follow("people", following_of("x"), false, std::nullopt, std::nullopt)).has_value());
  request.follower.clear();
  request.sources_only = true;
  ASSERT_EQ(run_task(client.query(request))->entities.size(), 1U);
}

}  // namespace
}  // namespace tidemark::table_store
