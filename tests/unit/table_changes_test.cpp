// The log of a followed table: the recorded changes, the changes that a follower is told, and followers that fall
// behind.
#include "common/base/encoding.h"
#include "common/rpc/rpc_wire.h"
#include "common/rpc/wire.h"
#include "table_changes_fixture.h"
#include "table_store/client/table_calls.h"
#include "table_store/model/limits.h"
#include "table_store/storage/change_records.h"
#include "table_store/storage/test_switches.h"

namespace tidemark::table_store {
namespace {

using Told = std::vector<std::string>;

struct TableChangesTest : ChangesFixture {
  void SetUp() override { create("People"); }
};

TEST_F(TableChangesTest, ATableThatNobodyFollowsHasNoLog) {
  put("a", "Rome");
  ASSERT_TRUE(mutate(change(kErase, "a")).has_value());
  ASSERT_TRUE(run_task(service->delete_table("acct", "people")).has_value());
  for (const char kind : {'f', 'h', 'l'}) EXPECT_EQ(rows(kind), 0U) << kind;
  EXPECT_TRUE(service->followers("acct", "people")->empty());
  EXPECT_TRUE(read("x").failed_with(ErrorCode::kFollowerNotFound));
  EXPECT_TRUE(acknowledge("x", 1).failed_with(ErrorCode::kFollowerNotFound));
  EXPECT_TRUE(run_task(service->unfollow("acct", "people", "x")).has_value());
  EXPECT_TRUE(follow(following_of("x")).failed_with(ErrorCode::kTableNotFound));
}

TEST_F(TableChangesTest, EveryKindOfWriteIsNotedWithWhatWasThere) {
  put("old", "Rome");
  ASSERT_TRUE(follow(following_of("x")).has_value());
  EXPECT_EQ(news("x"), Told{});
  ASSERT_TRUE(mutate(change(kInsert, "a", {text("City", "Bonn"), text("Other", "1")})).has_value());
  ASSERT_TRUE(mutate(change(kMerge, "a", {text("City", "Kiel")})).has_value());
  ASSERT_TRUE(mutate(change(kReplace, "a", {text("City", "Ulm")})).has_value());
  put("old", "Pisa");
  ASSERT_TRUE(mutate(change(kInsertOrMerge, "b", {text("Other", "2")})).has_value());
  ASSERT_TRUE(mutate(change(kErase, "a")).has_value());
  ASSERT_TRUE(mutate({change(kErase, "old"), change(kInsertOrMerge, "b", {text("City", "Jena")})}).has_value());
  EXPECT_EQ(news("x"), (Told{"p/a [Bonn, Kiel, Ulm] gone", "p/old [Rome, Pisa] gone", "p/b [-] Jena"}));
}

TEST_F(TableChangesTest, WhatChangesNothingIsNotNoted) {
  put("a", "Rome");
  ASSERT_TRUE(mutate(copy_of("copy", 5, {})).has_value());
  ASSERT_TRUE(follow(following_of("x")).has_value());
  EXPECT_FALSE(mutate(change(kInsert, "a")).has_value());
  EXPECT_FALSE(mutate({change(kInsert, "b"), change(kErase, "nobody")}).has_value());
  auto lenient = change(kInsert, "a");
  lenient.lenient = true;
  EXPECT_EQ(mutate(lenient)->outcomes[0].kind, WriteOutcome::kConflict);
  EXPECT_EQ(mutate(copy_of("copy", 5, {}))->outcomes[0].kind, WriteOutcome::kUnchanged);
  EXPECT_EQ(mutate(copy_of("copy", 4, {}))->outcomes[0].kind, WriteOutcome::kSuperseded);
  EXPECT_EQ(rows('l'), 0U);
}

TEST_F(TableChangesTest, MovesAreNotedInEveryTableTheyTouch) {
  if (divided()) GTEST_SKIP() << "a move is of one shard";
  for (const auto* table : {"former", "notes"}) create(table);
  for (const auto* table : {"people", "former", "notes"}) {
    ASSERT_TRUE(follow(following_of("x"), false, table).has_value());
  }
  put("a", "Rome");
  Move move{"people", "former", "p", "a", false, {"op", 1, ""}, std::nullopt};
  move.companion = Companion{"notes", "p", change(kInsert, "note", {text("City", "Note")})};
  ASSERT_TRUE((*run_task(service->move_all("acct", {move})))[0].has_value());
  const auto page = [&](const char* table) {
    auto read = run_task(service->changed_entities("acct", table, "x", {}, {}, 100, Duration()));
    return read ? told(*read) : Told{"failed"};
  };
  EXPECT_EQ(page("people"), Told{"p/a [Rome] gone"});
  EXPECT_EQ(page("former"), Told{"p/a [] Rome"});
  EXPECT_EQ(page("notes"), Told{"p/note [] Note"});
}

TEST_F(TableChangesTest, ACopyThatAMoveTakesOverIsNoted) {
  if (divided()) GTEST_SKIP() << "a move is of one shard";
  create("former");
  const auto version = put("a", "Rome");
  auto left = std::vector{copy_of("a", version, {text("City", "Rome")})};
  ASSERT_TRUE(run_task(service->mutate("acct", "former", "p", left, Fence{"other", 1, ""})).has_value());
  ASSERT_TRUE(follow(following_of("x"), false, "former").has_value());
  const Move move{"people", "former", "p", "a", false, {"op", 1, ""}, std::nullopt};
  ASSERT_TRUE((*run_task(service->move_all("acct", {move})))[0].has_value());
  const auto page = run_task(service->changed_entities("acct", "former", "x", {}, {}, 100, Duration()));
  ASSERT_TRUE(page.has_value());
  EXPECT_EQ(told(*page), Told{"p/a [Rome] Rome"});
  EXPECT_EQ(page->entities[0].now->operation, "op");
}

TEST_F(TableChangesTest, ADropIsNotedAndTheLogGoesOnWithTheNextTableOfTheName) {
  ASSERT_TRUE(follow(following_of("x")).has_value());
  put("a", "Rome");
  ASSERT_TRUE(run_task(service->delete_table("acct", "people")).has_value());
  create("PEOPLE");
  put("a", "Bonn");
  const auto first = read("x");
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(told(*first), Told{"p/a [] Bonn"});
  ASSERT_TRUE(first->dropped.has_value());
  EXPECT_EQ(of(first->through), *first->dropped);
  EXPECT_GT(first->entities[0].now->version, *first->dropped);
  EXPECT_TRUE(first->more);
  const auto second = read("x", first->through);
  EXPECT_EQ(told(*second), Told{"p/a [] Bonn"});
  EXPECT_FALSE(second->dropped || second->more);
  EXPECT_EQ(second->through, second->as_of);
}

TEST_F(TableChangesTest, AFencedDropIsNotedToo) {
  ASSERT_TRUE(follow(following_of("x")).has_value());
  put("a", "Rome");
  ASSERT_TRUE(run_task(service->delete_table_fenced("acct", "people", {"op", 1, ""})).has_value());
  const auto page = read("x");
  EXPECT_EQ(told(*page), Told{"p/a [] gone"});
  EXPECT_TRUE(page->dropped && !page->more);
}

TEST_F(TableChangesTest, AFenceThatIsOverBeginsNoFollower) {
  const auto fenced = [this](std::uint64_t epoch) {
    return run_task(service->follow("acct", "people", following_of("x"), false, {}, Fence{"op", epoch, "", 0}));
  };
  ASSERT_TRUE(run_task(service->open_operation("acct", "op", 5)));
  EXPECT_TRUE(fenced(4).failed_with(ErrorCode::kFenced));
  EXPECT_TRUE(service->followers("acct", "people")->empty());
  EXPECT_TRUE(fenced(5));
  EXPECT_TRUE(fenced(6)) << "nothing changes";
  EXPECT_TRUE(fenced(5).failed_with(ErrorCode::kFenced)) << "its epoch was taken all the same";
  ASSERT_TRUE(run_task(service->unfollow("acct", "people", "x")));
  ASSERT_TRUE(run_task(service->close_operation("acct", "op", 7)));
  EXPECT_TRUE(fenced(8).failed_with(ErrorCode::kFenced));
  EXPECT_TRUE(service->followers("acct", "people")->empty());
}

TEST_F(TableChangesTest, PagesEndBetweenTransactions) {
  ASSERT_TRUE(follow(following_of("x")).has_value());
  put("a", "1");
  ASSERT_TRUE(mutate({change(kInsert, "b"), change(kInsert, "c"), change(kInsert, "d")}).has_value());
  put("e", "5");
  auto page = *read("x", {}, 1);
  EXPECT_EQ(told(page), Told{"p/a [] 1"});
  EXPECT_TRUE(page.more);
  page = *read("x", page.through, 1);
  EXPECT_EQ(page.entities.size(), 3U);
  EXPECT_TRUE(page.more);
  page = *read("x", page.through, 1);
  EXPECT_EQ(told(page), Told{"p/e [] 5"});
  EXPECT_FALSE(page.more);
  EXPECT_TRUE(read("x", page.through, 1)->entities.empty());
}

TEST_F(TableChangesTest, APageHasAllChangesOfFewEntities) {
  ASSERT_TRUE(follow(following_of("x")).has_value());
  for (const auto* value : {"1", "2", "1", "3"}) {
    for (const auto* row : {"a", "b"}) put(row, value);
  }
  const auto page = *read("x", {}, 3);
  EXPECT_EQ(told(page), (Told{"p/a [1, 2] 3", "p/b [1, 2] 3"}));
  EXPECT_EQ(page.changes, 8U);
  EXPECT_GT(page.bytes, 8 * 4U);
  EXPECT_FALSE(page.more);
}

TEST_F(TableChangesTest, ATransactionThatIsTooLargeForAPageComesInParts) {
  std::vector<Mutation> many;
  for (int row = 0; row < 80; ++row) {
    std::vector<Property> large;
    for (int i = 0; i < 13; ++i) large.push_back(text("P" + std::to_string(i), std::string(32UL << 10, 'x')));
    ASSERT_TRUE(mutate(change(kInsert, std::to_string(100 + row), std::move(large))).has_value());
    many.push_back(change(kMerge, std::to_string(100 + row), {text("City", "Rome")}));
  }
  ASSERT_TRUE(follow(following_of("x")).has_value());
  const auto from = status("x").position;
  ASSERT_TRUE(mutate(many).has_value());
  put("after", "Bonn");
  Told all;
  ChangesPage page;
  page.through = from;
  int pages = 0;
  do {
    page = *read("x", page.through, 1, page.skip);
    for (const auto& entity : page.entities) all.push_back(entity.row_key);
    ++pages;
  } while (page.more);
  EXPECT_EQ(all.size(), 81U);
  EXPECT_TRUE(std::ranges::is_sorted(all));
  EXPECT_GT(pages, 2);
  EXPECT_EQ(page.skip, NotesRead{});
}

/// Text may take three bytes where it counts as two.
TEST_F(TableChangesTest, APageOfTheLargestEntitiesFitsIntoAMessage) {
  std::string text_of_all;
  for (std::size_t i = 0; i < kMaxStringUnits; ++i) text_of_all += "\u8a9e";
  ASSERT_TRUE(follow(following_of("x")).has_value());
  for (int row = 0; row < 20; ++row) {
    std::vector<Property> large;
    for (int i = 0; i < 15; ++i) large.push_back(text("P" + std::to_string(i), text_of_all));
    ASSERT_TRUE(mutate(change(kInsert, std::to_string(100 + row), std::move(large))).has_value());
  }
  std::size_t entities = 0;
  ChangesPage page;
  do {
    page = *read("x", page.through);
    EXPECT_LT(wire::encode(page).size(), rpc::kMaxMessageBytes);
    entities += page.entities.size();
  } while (page.more);
  EXPECT_EQ(entities, 20U);
}

TEST_F(TableChangesTest, APageOfTheLongestKeysFitsIntoAMessage) {
  std::string beginning;
  while (utf16_length(beginning) < 508) beginning += "\u8a9e";
  ASSERT_TRUE(follow(following_of("x")).has_value());
  for (int group = 0; group < 90; ++group) {
    std::vector<Mutation> many;
    for (int row = 0; row < 100; ++row) {
      many.push_back(change(kInsert, beginning + std::to_string(1000 + group * 100 + row), {}));
    }
    ASSERT_TRUE(mutate(std::move(many)).has_value());
  }
  const auto page = *read("x", {});
  EXPECT_TRUE(page.more);
  EXPECT_LT(wire::encode(page).size(), rpc::kMaxMessageBytes);
}

TEST_F(TableChangesTest, EntitiesComeInTheOrderOfTheirLastChanges) {
  ASSERT_TRUE(follow(following_of("x")).has_value());
  for (const auto* row : {"a", "b", "c", "a"}) put(row, "1");
  EXPECT_EQ(news("x"), (Told{"p/b [] 1", "p/c [] 1", "p/a [1] 1"}));
}

TEST_F(TableChangesTest, AFollowerSeesThePropertiesThatAnyFollows) {
  ASSERT_TRUE(follow(following_of("x", {"City", "RowKey"})).has_value());
  ASSERT_TRUE(follow(following_of("y", {"Age"})).has_value());
  ASSERT_TRUE(mutate(change(kInsert, "a", {text("Name", "n"), text("City", "Rome"), text("Age", "9")})).has_value());
  ASSERT_TRUE(mutate(change(kErase, "a")).has_value());
  const auto page = read("x");
  ASSERT_EQ(page->entities.size(), 1U);
  ASSERT_EQ(page->entities[0].before.size(), 1U);
  const auto& before = page->entities[0].before[0];
  ASSERT_EQ(before.size(), 2U);
  EXPECT_EQ(before[0].name, "Age");
  EXPECT_EQ(before[1].name, "City");
}

TEST_F(TableChangesTest, TheSwitchLeavesNotesOut) {
  ASSERT_TRUE(follow(following_of("x")).has_value());
  test_switches().leave_out_notes = true;
  put("a", "Rome");
  test_switches().leave_out_notes = false;
  EXPECT_EQ(news("x"), Told{});
}

// Followers

TEST_F(TableChangesTest, AFollowerHasItsPlaceUntilItBeginsAnew) {
  const auto last = put("a", "Rome");
  EXPECT_EQ(of(follow(following_of("x", {"City", "Age"}))->position), last);
  put("a", "Bonn");
  auto changed = following_of("x");
  changed.max_changes = shared(7);
  const auto same = follow(changed);
  EXPECT_EQ(of(same->position), last);
  EXPECT_EQ(same->following, changed);
  EXPECT_EQ(same->changes_behind, 1U);
  EXPECT_EQ(news("x"), Told{"p/a [Rome] Bonn"});
  EXPECT_EQ(follow(changed, true)->changes_behind, 0U);
  EXPECT_EQ(news("x"), Told{});
}

TEST_F(TableChangesTest, ACallToBeginAnewThatComesTwiceLosesNothing) {
  const auto place = follow(following_of("x"))->position;
  put("a", "Rome");
  const auto begin_from = [&] { return run_task(service->follow("acct", "people", following_of("x"), true, place)); };
  EXPECT_EQ(begin_from()->changes_behind, 0U);
  put("a", "Bonn");
  EXPECT_EQ(begin_from()->changes_behind, 1U);
  EXPECT_EQ(news("x"), Told{"p/a [Rome] Bonn"});
}

TEST_F(TableChangesTest, WhoAsksForMoreThanWasNotedIsStale) {
  auto following = following_of("x");
  following.properties = {"City"};
  ASSERT_TRUE(follow(following).has_value());
  following.properties = {"City", "Name"};
  EXPECT_FALSE(follow(following)->stale) << "nothing waits";
  put("a", "Rome");
  EXPECT_FALSE(follow(following)->stale) << "the same as before";
  following.properties = {"Name"};
  EXPECT_FALSE(follow(following)->stale) << "less";
  following.properties = {"Name", "Phone"};
  EXPECT_TRUE(follow(following)->stale);
  EXPECT_TRUE(read("x")->stale);
  EXPECT_FALSE(follow(following, true)->stale);
}

TEST_F(TableChangesTest, AnEntityThatWasNotThereHasAppeared) {
  put("old", "Rome");
  ASSERT_TRUE(follow(following_of("x")).has_value());
  put("old", "Bonn");
  put("new", "Ulm");
  put("new", "Kiel");
  put("back", "Rome");
  const auto appeared = [&] {
    std::string out;
    for (const auto& entity : read("x")->entities) out += entity.row_key + (entity.appeared ? "+ " : " ");
    return out;
  };
  EXPECT_EQ(appeared(), "old new+ back+ ");
  ASSERT_TRUE(acknowledge("x", read("x")->through).has_value());
  ASSERT_TRUE(mutate(change(kErase, "back")).has_value());
  ASSERT_TRUE(mutate(change(kErase, "old")).has_value());
  put("back", "Rome");
  EXPECT_EQ(appeared(), "old back+ ");
}

TEST_F(TableChangesTest, WhatIsNotAFollowingIsRefused) {
  std::vector<Following> bad(7, following_of("x"));
  bad[0].follower = "";
  bad[1].follower = std::string(kMaxFollowerNameBytes + 1, 'x');
  bad[2].properties.assign(kMaxFollowedProperties + 1, "P");
  bad[3].properties = {""};
  bad[4].max_changes = 0;
  bad[5].max_bytes = 0;
  bad[6].follower = "\xFF";
  for (const auto& following : bad) EXPECT_TRUE(follow(following).failed_with(ErrorCode::kInvalidInput));
  EXPECT_TRUE(follow(following_of("x"), false, "nowhere").failed_with(ErrorCode::kTableNotFound));
  for (std::size_t i = 0; i < kMaxFollowers; ++i) {
    ASSERT_TRUE(follow(following_of(std::to_string(i + 100))).has_value());
  }
  EXPECT_TRUE(follow(following_of("one more")).failed_with(ErrorCode::kTooManyFollowers));
  EXPECT_TRUE(follow(following_of("100"), true).has_value());
  const auto all = service->followers("acct", "people");
  ASSERT_EQ(all->size(), kMaxFollowers);
  EXPECT_TRUE(std::ranges::is_sorted(*all, {}, [](const auto& one) { return one.following.follower; }));
  EXPECT_TRUE(read("100", {}, 0).failed_with(ErrorCode::kInvalidInput));
  EXPECT_TRUE(read("100", {}, 10'001).failed_with(ErrorCode::kInvalidInput));
  EXPECT_TRUE(read("100", at(1'000'000'000)).failed_with(ErrorCode::kInvalidInput));
  EXPECT_TRUE(acknowledge("100", 1'000'000'000).failed_with(ErrorCode::kInvalidInput));
}

TEST_F(TableChangesTest, AcknowledgedNotesAreErased) {
  ASSERT_TRUE(follow(following_of("x")).has_value());
  ASSERT_TRUE(follow(following_of("y")).has_value());
  clock.time = Time(Ticks(5'000'000'000));
  const auto first = put("a", "1");
  const auto second = put("b", "2");
  EXPECT_EQ(status("x").changes_behind, 2U);
  EXPECT_GT(status("x").bytes_behind, 0U);
  EXPECT_EQ(status("x").oldest, Time(Ticks(first)));
  ASSERT_TRUE(acknowledge("x", first).has_value());
  EXPECT_EQ(status("x").changes_behind, 1U);
  EXPECT_EQ(status("x").oldest, Time(Ticks(second)));
  EXPECT_EQ(rows('l'), 2U) << "the other one needs it";
  ASSERT_TRUE(acknowledge("x", first - 1).has_value());
  EXPECT_EQ(of(status("x").position), first) << "a position only rises";
  EXPECT_EQ(news("x"), Told{"p/b [] 2"});
  clock.time += LogTrims::kPause;
  ASSERT_TRUE(acknowledge("y", second).has_value());
  EXPECT_EQ(rows('l'), 1U);
  EXPECT_EQ(status("y").changes_behind, 0U);
  EXPECT_EQ(status("y").bytes_behind, 0U);
  EXPECT_FALSE(status("y").oldest);
  ASSERT_TRUE(acknowledge("x", second).has_value());
  EXPECT_EQ(rows('l'), 1U) << "not all the time";
  reopen();
  ASSERT_TRUE(run_task(service->collect_garbage()).has_value());
  EXPECT_EQ(rows('l'), 0U);
  put("c", "3");
  EXPECT_EQ(status("x").changes_behind, 1U);
}

TEST_F(TableChangesTest, AStoreThatWasClosedGoesOn) {
  ASSERT_TRUE(follow(following_of("x")).has_value());
  put("a", "1");
  reopen();
  put("a", "2");
  ASSERT_TRUE(mutate(change(kErase, "a")).has_value());
  EXPECT_EQ(news("x"), Told{"p/a [1, 2] gone"});
}

TEST_F(TableChangesTest, WithTheLastFollowerEverythingGoes) {
  ASSERT_TRUE(follow(following_of("x")).has_value());
  ASSERT_TRUE(follow(following_of("y")).has_value());
  put("a", "1");
  ASSERT_TRUE(run_task(service->unfollow("acct", "people", "x")).has_value());
  EXPECT_TRUE(read("x").failed_with(ErrorCode::kFollowerNotFound));
  EXPECT_EQ(news("y"), Told{"p/a [] 1"});
  ASSERT_TRUE(run_task(service->unfollow("acct", "people", "y")).has_value());
  put("a", "2");
  for (const char kind : {'f', 'h', 'l', 'd'}) EXPECT_EQ(rows(kind), 0U) << kind;
  ASSERT_TRUE(follow(following_of("y")).has_value());
  EXPECT_EQ(news("y"), Told{});
}

// Bounds

TEST_F(TableChangesTest, WritesAreRefusedForAFollowerThatMustNotFallBehind) {
  auto following = following_of("precious");
  following.max_changes = shared(2);
  following.refuse_writes = true;
  ASSERT_TRUE(follow(following).has_value());
  put("a", "1");
  const auto second = put("a", "2");
  auto refused = mutate(change(kInsertOrReplace, "a", {text("City", "3")}));
  ASSERT_TRUE(refused.failed_with(ErrorCode::kServerBusy));
  EXPECT_NE(refused.error().message.find("2 changes"), std::string::npos) << refused.error().message;
  EXPECT_NE(refused.error().message.find("'precious'"), std::string::npos) << refused.error().message;
  EXPECT_EQ(news("precious"), Told{"p/a [1] 2"});
  ASSERT_TRUE(acknowledge("precious", second - 1).has_value());
  put("a", "3");
  EXPECT_FALSE(mutate(change(kErase, "a")).has_value());
  ASSERT_TRUE(run_task(service->delete_table("acct", "people")).has_value()) << "a drop goes through";
  EXPECT_FALSE(status("precious").stale);
}

TEST_F(TableChangesTest, BytesAreBoundedToo) {
  auto following = following_of("precious");
  following.max_bytes = shared(1000);
  following.refuse_writes = true;
  ASSERT_TRUE(follow(following).has_value());
  put("a", std::string(2000, 'x'));
  auto refused = mutate(change(kErase, "a"));
  ASSERT_TRUE(refused.failed_with(ErrorCode::kServerBusy));
  EXPECT_NE(refused.error().message.find("1000 bytes"), std::string::npos) << refused.error().message;
}

TEST_F(TableChangesTest, AFollowerThatFallsTooFarBehindIsStaleAndBeginsAnew) {
  auto following = following_of("x");
  following.max_changes = shared(2);
  ASSERT_TRUE(follow(following).has_value());
  ASSERT_TRUE(follow(following_of("y")).has_value());
  clock.time += LogTrims::kPause;
  for (int i = 0; i < 3; ++i) put("a", std::to_string(i));
  EXPECT_TRUE(status("x").stale);
  EXPECT_FALSE(status("y").stale);
  const auto page = read("x");
  EXPECT_TRUE(page->stale);
  EXPECT_TRUE(page->entities.empty());
  ASSERT_TRUE(acknowledge("x", page->as_of).has_value());
  EXPECT_TRUE(follow(following)->stale) << "only by beginning anew";
  EXPECT_EQ(news("y"), Told{"p/a [0, 1] 2"});
  clock.time += LogTrims::kPause;
  ASSERT_TRUE(acknowledge("y", read("y")->through).has_value());
  EXPECT_EQ(rows('l'), 0U) << "nothing is kept for a stale one";
  EXPECT_FALSE(follow(following, true)->stale);
  put("a", "4");
  EXPECT_EQ(news("x"), Told{"p/a [2] 4"});
}

TEST_F(TableChangesTest, NothingIsNotedIfAllAreStale) {
  auto following = following_of("x");
  following.max_changes = shared(1);
  ASSERT_TRUE(follow(following).has_value());
  clock.time += LogTrims::kPause;
  for (int i = 0; i < 3; ++i) put("a", std::to_string(i));
  EXPECT_EQ(rows('l'), 0U);
  ASSERT_TRUE(follow(following, true).has_value());
  put("a", "3");
  EXPECT_EQ(news("x"), Told{"p/a [2] 3"});
}

// Rows with an origin

struct TableOriginTest : ChangesFixture {
  void SetUp() override { create("People"); }
  static Mutation erase(std::string row, std::optional<Origin> origin) {
    auto out = change(kErase, std::move(row));
    out.origin = std::move(origin);
    return out;
  }
  WriteOutcome outcome(Mutation mutation) {
    auto done = mutate(std::move(mutation));
    EXPECT_TRUE(done.has_value());
    return done ? done->outcomes[0].kind : WriteOutcome::kMissing;
  }
  const Origin mine{"x", "p", "a"};
  const Origin other{"x", "p", "b"};
};

TEST_F(TableOriginTest, OnlyARowWithTheSameMarkIsReplacedOrErased) {
  put("user", "Rome");
  EXPECT_EQ(outcome(copy_of("user", INT64_MAX, {}, mine)), WriteOutcome::kConflict);
  EXPECT_EQ(outcome(erase("user", mine)), WriteOutcome::kConflict);
  EXPECT_EQ(outcome(erase("nobody", mine)), WriteOutcome::kMissing);
  EXPECT_EQ(outcome(copy_of("row", 5, {text("City", "Bonn")}, mine)), WriteOutcome::kApplied);
  EXPECT_EQ(get("row")->origin, mine);
  EXPECT_EQ(outcome(copy_of("row", 9, {}, other)), WriteOutcome::kConflict);
  EXPECT_EQ(outcome(erase("row", other)), WriteOutcome::kConflict);
  EXPECT_EQ(outcome(copy_of("row", 5, {}, mine)), WriteOutcome::kUnchanged);
  EXPECT_EQ(outcome(copy_of("row", 4, {}, mine)), WriteOutcome::kSuperseded);
  EXPECT_EQ(outcome(copy_of("row", 6, {}, mine)), WriteOutcome::kApplied);
  auto old = erase("row", mine);
  old.source_version = 5;
  EXPECT_EQ(outcome(old), WriteOutcome::kSuperseded);
  EXPECT_EQ(outcome(erase("row", mine)), WriteOutcome::kApplied);
  EXPECT_FALSE(get("row"));
}

TEST_F(TableOriginTest, CopiesWithoutAMarkLeaveMarkedRowsAlone) {
  ASSERT_EQ(outcome(copy_of("row", 5, {}, mine)), WriteOutcome::kApplied);
  EXPECT_EQ(outcome(copy_of("row", 9, {})), WriteOutcome::kConflict);
  auto removal = erase("row", {});
  removal.source_version = 9;
  EXPECT_EQ(outcome(removal), WriteOutcome::kConflict);
  EXPECT_EQ(get("row")->origin, mine);
}

TEST_F(TableOriginTest, WhatAUserWritesHasNoMark) {
  for (const auto kind : {kMerge, kReplace, kInsertOrReplace, kInsertOrMerge}) {
    const auto row = std::to_string(static_cast<int>(kind));
    ASSERT_EQ(outcome(copy_of(row, 5, {}, mine)), WriteOutcome::kApplied);
    ASSERT_EQ(outcome(change(kind, row)), WriteOutcome::kApplied);
    EXPECT_FALSE(get(row)->origin || get(row)->source_version);
  }
  ASSERT_EQ(outcome(copy_of("row", 5, {}, mine)), WriteOutcome::kApplied);
  ASSERT_EQ(outcome(change(kErase, "row")), WriteOutcome::kApplied);
}

TEST_F(TableOriginTest, OnlyPutsOfCopiesAndErasuresCarryAMark) {
  std::vector<Mutation> bad;
  for (const auto kind : {kInsert, kReplace, kMerge, kInsertOrReplace, kInsertOrMerge}) {
    bad.push_back(change(kind, "row"));
    bad.back().origin = mine;
  }
  bad.push_back(copy_of("row", 5, {}, mine));
  bad.back().restores = true;
  bad.push_back(copy_of("row", 5, {}, Origin{"", "p", "a"}));
  bad.push_back(copy_of("row", 5, {}, Origin{std::string(257, 'x'), "p", "a"}));
  for (const auto& mutation : bad) EXPECT_TRUE(mutate(mutation).failed_with(ErrorCode::kInvalidInput));
  bad.back().origin = Origin{"x", "#", "a"};
  EXPECT_FALSE(mutate(bad.back()).has_value());
  EXPECT_EQ(outcome(copy_of("row", 5, {}, Origin{"x", "", ""})), WriteOutcome::kApplied);
}

TEST_F(TableOriginTest, AFollowersOwnRowsAreNoEntitiesOfItsTable) {
  ASSERT_TRUE(follow(following_of("x")).has_value());
  ASSERT_EQ(outcome(copy_of("row", 5, {text("City", "Bonn")}, mine)), WriteOutcome::kApplied);
  ASSERT_EQ(outcome(copy_of("row", 6, {text("City", "Ulm")}, mine)), WriteOutcome::kApplied);
  ASSERT_EQ(outcome(copy_of("foreign", 6, {text("City", "Jena")}, Origin{"y", "", ""})), WriteOutcome::kApplied);
  EXPECT_EQ(news("x"), Told{"p/foreign [] Jena"});
  put("row", "Rome");
  EXPECT_EQ(news("x"), (Told{"p/foreign [] Jena", "p/row [] Rome"}));
  ASSERT_EQ(outcome(change(kErase, "row")), WriteOutcome::kApplied);
  ASSERT_EQ(outcome(copy_of("row", 7, {text("City", "Kiel")}, mine)), WriteOutcome::kApplied);
  EXPECT_EQ(news("x"), (Told{"p/foreign [] Jena", "p/row [Rome] gone"}));
  const auto rows_of = [&](const std::string& follower, bool sources_only) {
    Query query;
    query.table = "people";
    query.follower = follower;
    query.sources_only = sources_only;
    Told rows;
    const auto take = [&](const EntityView& entity) {
      rows.emplace_back(entity.row_key);
      return true;
    };
    EXPECT_TRUE(run_task(service->query("acct", query, take)).has_value());
    return rows;
  };
  put("z", "Rome");
  EXPECT_EQ(rows_of("", false), (Told{"foreign", "row", "z"}));
  EXPECT_EQ(rows_of("", true), (Told{"foreign", "z"}));
  EXPECT_EQ(rows_of("x", false), Told{"row"});
  EXPECT_EQ(rows_of("y", true), Told{"foreign"});
}

TEST(ChangeRecords, DamageIsNoticed) {
  Note note{NoteKind::kMerged, true, 5, "p", "r", property_block({text("City", "Rome")}), {}, "order", 7, 300};
  note.after = property_block({text("City", "Bonn")});
  const auto good = encode_note(note);
  const auto again = decode_note(good);
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->before, note.before);
  EXPECT_EQ(again->after, note.after);
  EXPECT_EQ(again->cause, note.cause);
  EXPECT_EQ(again->before_version, 5);
  EXPECT_EQ(again->bytes, 300U);
  for (std::size_t n = 0; n < good.size(); ++n) EXPECT_FALSE(decode_note(good.substr(0, n)).has_value()) << n;
  auto random = make_seeded_random(1);
  for (int i = 0; i < 20000; ++i) {
    auto bad = good;
    for (std::uint64_t n = random->below(3); n < 3; ++n) {
      bad[random->below(bad.size())] = static_cast<char>(random->below(256));
    }
    if (const auto decoded = decode_note(bad)) EXPECT_TRUE(decode_note(encode_note(*decoded)).has_value());
    (void)kFeedRecord.decode(bad).has_value();
    (void)kHeadRecord.decode(bad).has_value();
  }
}

}  // namespace
}  // namespace tidemark::table_store
