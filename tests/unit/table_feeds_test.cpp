// The change feed of a table: the retained changes, their retention, and a reader's answers.
#include "table_changes_fixture.h"
#include "table_store/storage/change_records.h"

namespace tidemark::table_store {
namespace {

using Told = std::vector<std::string>;
constexpr auto kSecond = std::chrono::seconds(1);

std::string city_of(const std::optional<std::vector<Property>>& properties) {
  if (!properties) return "";
  for (const auto& property : *properties) {
    if (property.name == "City") return std::get<std::string>(property.value);
  }
  return "-";
}

/// Returns "kind p/r old>new".
std::string told(const Change& change) {
  static constexpr std::array kNames{"", "insert", "replace", "merge", "delete", "drop", "create"};
  std::string out = kNames[static_cast<std::size_t>(change.kind)];
  if (!change.row_key.empty()) out += " " + change.partition_key + "/" + change.row_key;
  if (change.before || change.after) out += " " + city_of(change.before) + ">" + city_of(change.after);
  return out;
}

Told told(const FeedPage& page) {
  Told out;
  for (const auto& change : page.changes) out.push_back(told(change));
  return out;
}

struct TableFeedsTest : ChangesFixture {
  void SetUp() override { create("People"); }

  Result<FeedStatus> put_feed(ChangeFeed feed = {.old_values = true, .new_values = true}) {
    return run_task(service->put_feed("acct", "people", feed));
  }
  Result<FeedStatus> feed(const std::vector<FeedPlace>& places = {}) {
    return service->feed_status("acct", "people", places);
  }
  Result<FeedPage> changes(FeedRequest request) {
    request.old_values = request.new_values = true;
    return run_task(service->changes("acct", "people", std::move(request)));
  }
  Result<FeedPage> from(FeedPlace place, std::uint32_t limit = 1000) {
    return changes({.place = place, .limit = limit});
  }
  Told all() {
    auto page = changes({.start = FeedStart::kOldest, .limit = 1000});
    EXPECT_TRUE(page.has_value());
    return page ? told(*page) : Told{};
  }
  FeedPlace now() { return changes({.start = FeedStart::kNow})->next; }
  /// Makes one round of the background work.
  void let_go() {
    service->begin_shutdown();
    reopen();
    asio::io_context io;
    asio::co_spawn(io, service->let_changes_go(), asio::detached);
    io.poll();
    service->begin_shutdown();
    io.restart();
    io.run();
    reopen();
  }
};

TEST_F(TableFeedsTest, EachChangeIsTold) {
  put("old", "Rome");
  ASSERT_TRUE(put_feed().has_value());
  ASSERT_TRUE(mutate(change(kInsert, "a", {text("City", "Bonn"), text("Other", "1")})).has_value());
  ASSERT_TRUE(mutate(change(kMerge, "a", {text("City", "Kiel")})).has_value());
  ASSERT_TRUE(mutate(change(kReplace, "a", {text("City", "Ulm")})).has_value());
  put("old", "Pisa");
  ASSERT_TRUE(mutate(change(kInsertOrMerge, "b", {text("Other", "2")})).has_value());
  ASSERT_TRUE(mutate({change(kErase, "old"), change(kInsertOrMerge, "b", {text("City", "Jena")})}).has_value());
  EXPECT_EQ(all(), (Told{"insert p/a >Bonn", "merge p/a Bonn>Kiel", "replace p/a Kiel>Ulm", "replace p/old Rome>Pisa",
                         "insert p/b >-", "delete p/old Pisa>", "merge p/b ->Jena"}));
  const auto page = changes({.start = FeedStart::kOldest, .limit = 1000});
  EXPECT_EQ(page->changes[1].after->size(), 2U) << "a merge tells the whole entity";
  EXPECT_EQ(page->changes[5].version, page->changes[6].version);
  EXPECT_EQ(page->changes[6].index, 1U);
  EXPECT_EQ(page->changes[2].before_version, page->changes[1].version);
  EXPECT_FALSE(page->more);
}

TEST_F(TableFeedsTest, WithoutAFeedThereIsNothing) {
  EXPECT_TRUE(feed().failed_with(ErrorCode::kFeedNotFound));
  EXPECT_TRUE(from({}).failed_with(ErrorCode::kFeedNotFound));
  EXPECT_TRUE(run_task(service->drop_feed("acct", "people")).failed_with(ErrorCode::kFeedNotFound));
  EXPECT_TRUE(run_task(service->put_feed("acct", "nowhere", {})).failed_with(ErrorCode::kTableNotFound));
  ASSERT_TRUE(follow(following_of("x")).has_value());
  put("a", "Rome");
  EXPECT_TRUE(from({}).failed_with(ErrorCode::kFeedNotFound)) << "an index makes no feed";
  EXPECT_TRUE(service->all_feeds(10)->empty());
}

TEST_F(TableFeedsTest, WhatIsNoFeedIsRefused) {
  for (const auto& bad : {ChangeFeed{.retention_s = 0}, ChangeFeed{.retention_s = kMostRetention + 1},
                          ChangeFeed{.max_bytes = kLeastFeedBytes - 1}, ChangeFeed{.max_bytes = kMostFeedBytes + 1}}) {
    EXPECT_TRUE(put_feed(bad).failed_with(ErrorCode::kInvalidInput));
  }
  ASSERT_TRUE(put_feed().has_value());
  EXPECT_TRUE(from(now(), 0).failed_with(ErrorCode::kInvalidInput));
  EXPECT_TRUE(from(now(), 1001).failed_with(ErrorCode::kInvalidInput));
  FeedRequest request{.place = now()};
  request.wait = 6 * kSecond;
  EXPECT_TRUE(changes(request).failed_with(ErrorCode::kInvalidInput));
}

TEST_F(TableFeedsTest, ItBeginsWithItsDeclaration) {
  ASSERT_TRUE(follow(following_of("x")).has_value());
  put("a", "Rome");
  ASSERT_TRUE(put_feed().has_value());
  EXPECT_EQ(all(), Told{}) << "what the index still needs is not in it";
  put("a", "Bonn");
  EXPECT_EQ(all(), Told{"replace p/a Rome>Bonn"});
  EXPECT_EQ(news("x"), Told{"p/a [Rome] Bonn"}) << "the index goes on as before";
}

TEST_F(TableFeedsTest, ValuesAreKeptAsAskedFor) {
  ASSERT_TRUE(put_feed({}).has_value());
  put("a", "Rome");
  ASSERT_TRUE(put_feed({.old_values = true}).has_value());
  put("a", "Bonn");
  ASSERT_TRUE(put_feed({.new_values = true}).has_value());
  put("a", "Kiel");
  EXPECT_EQ(all(), (Told{"insert p/a", "replace p/a Rome>", "replace p/a >Kiel"}));
  EXPECT_EQ(feed()->kept.changes, 3U);
}

TEST_F(TableFeedsTest, OnlyWhatIsAskedForIsTold) {
  ASSERT_TRUE(put_feed().has_value());
  ASSERT_TRUE(mutate(change(kInsert, "a", {text("City", "Bonn"), text("Other", "1")})).has_value());
  ASSERT_TRUE(mutate(change(kErase, "a")).has_value());
  FeedRequest request{.start = FeedStart::kOldest, .limit = 10, .new_values = true, .select = {"Other", "None"}};
  const auto page = run_task(service->changes("acct", "people", request));
  ASSERT_EQ(page->changes.size(), 2U);
  EXPECT_FALSE(page->changes[0].before);
  ASSERT_EQ(page->changes[0].after->size(), 1U);
  EXPECT_EQ(page->changes[0].after->front().name, "Other");
  EXPECT_FALSE(page->changes[1].before || page->changes[1].after);
}

TEST_F(TableFeedsTest, AnIndexIsToldOnlyWhatItFollows) {
  ASSERT_TRUE(follow(following_of("x")).has_value());
  ASSERT_TRUE(put_feed().has_value());
  ASSERT_TRUE(mutate(change(kInsert, "a", {text("Other", "1"), text("City", "Bonn")})).has_value());
  ASSERT_TRUE(mutate(change(kErase, "a")).has_value());
  const auto page = read("x");
  ASSERT_EQ(page->entities[0].before.size(), 1U);
  EXPECT_EQ(page->entities[0].before[0].size(), 1U);
}

TEST_F(TableFeedsTest, RowsThatAnIndexMadeInItsTableAreNotTold) {
  ASSERT_TRUE(follow(following_of("x")).has_value());
  ASSERT_TRUE(put_feed().has_value());
  const auto version = put("a", "Rome");
  ASSERT_TRUE(mutate(copy_of("row", version, {text("City", "Rome")}, Origin{"x", "p", "a"})).has_value());
  put("row", "Bonn");
  EXPECT_EQ(all(), (Told{"insert p/a >Rome", "insert p/row >Bonn"}));
}

TEST_F(TableFeedsTest, AnyPlaceIsGoneOnFrom) {
  ASSERT_TRUE(put_feed().has_value());
  put("z", "1");
  ASSERT_TRUE(mutate({change(kInsert, "a"), change(kInsert, "b"), change(kInsert, "c")}).has_value());
  put("z", "2");
  const auto whole = all();
  ASSERT_EQ(whole.size(), 5U);
  for (std::uint32_t limit = 1; limit < 6; ++limit) {
    Told joined;
    auto page = changes({.start = FeedStart::kOldest, .limit = limit});
    for (;;) {
      EXPECT_LE(page->changes.size(), limit);
      std::ranges::move(told(*page), std::back_inserter(joined));
      if (!page->more) break;
      page = from(page->next, limit);
    }
    EXPECT_EQ(joined, whole) << limit;
    EXPECT_EQ(from(page->next)->changes.size(), 0U);
  }
}

TEST_F(TableFeedsTest, DropsAndNewTablesOfTheNameAreTold) {
  ASSERT_TRUE(put_feed().has_value());
  put("a", "Rome");
  ASSERT_TRUE(run_task(service->delete_table("acct", "people")).has_value());
  EXPECT_TRUE(feed().has_value()) << "it outlives the table";
  EXPECT_TRUE(put_feed().has_value());
  create("PEOPLE");
  put("a", "Bonn");
  EXPECT_EQ(all(), (Told{"insert p/a >Rome", "drop", "create", "insert p/a >Bonn"}));
  create("other");
  EXPECT_EQ(rows('f'), disks.size());
}

TEST_F(TableFeedsTest, IndexesDoNotSeeThatATableWasMade) {
  ASSERT_TRUE(follow(following_of("x")).has_value());
  ASSERT_TRUE(put_feed().has_value());
  ASSERT_TRUE(run_task(service->delete_table("acct", "people")).has_value());
  create("people");
  const auto first = read("x");
  ASSERT_TRUE(first->dropped.has_value());
  const auto second = read("x", first->through);
  EXPECT_TRUE(second->entities.empty() && !second->dropped && !second->more);
  EXPECT_EQ(second->through, second->as_of);
}

TEST_F(TableFeedsTest, WhatIsOldIsLetGo) {
  ASSERT_TRUE(put_feed({.retention_s = 60, .new_values = true}).has_value());
  const auto begin = changes({.start = FeedStart::kOldest})->next;
  put("a", "1");
  const auto second = changes({.place = begin})->next;
  clock.time += 30 * kSecond;
  put("a", "2");
  clock.time += 29 * kSecond;
  let_go();
  EXPECT_EQ(all().size(), 2U) << "not old enough";
  clock.time += 2 * kSecond;
  let_go();
  EXPECT_EQ(all(), Told{"replace p/a >2"});
  EXPECT_EQ(rows('l'), 1U);
  EXPECT_EQ(feed()->kept.changes, 1U);
  EXPECT_TRUE(from(begin).failed_with(ErrorCode::kChangesExpired));
  EXPECT_EQ(told(*from(second)), Told{"replace p/a >2"}) << "nothing is missing after this place";
  clock.time += 60 * kSecond;
  let_go();
  EXPECT_EQ(rows('l'), 0U);
  EXPECT_TRUE(from(second).failed_with(ErrorCode::kChangesExpired));
  EXPECT_EQ(feed()->kept.bytes, 0U);
}

TEST_F(TableFeedsTest, WhoeverHasReadAllMissesNothingHoweverLongItIsQuiet) {
  ASSERT_TRUE(put_feed({.retention_s = 1}).has_value());
  ASSERT_TRUE(mutate({change(kInsert, "a"), change(kInsert, "b")}).has_value());
  const auto page = changes({.start = FeedStart::kOldest, .limit = 2});
  const auto last = place_behind(*page, 2);
  clock.time += 100 * kSecond;
  let_go();
  EXPECT_EQ(rows('l'), 0U);
  EXPECT_TRUE(from(last).has_value());
  put("c", "1");
  EXPECT_EQ(from(last)->changes.size(), 1U);
  const auto within = place_behind(*page, 1);
  EXPECT_TRUE(from(within).failed_with(ErrorCode::kChangesExpired));
}

TEST_F(TableFeedsTest, BytesAreBounded) {
  ASSERT_TRUE(put_feed({.max_bytes = shared(kLeastFeedBytes), .new_values = true}).has_value());
  const auto begin = now();
  std::vector<FeedPlace> places;
  for (int i = 0; i < 200; ++i) {
    clock.time += kSecond * (i % 7);
    put(std::to_string(i), std::string(20'000, 'x'));
    places.push_back(now());
    EXPECT_LE(feed()->kept.bytes, kLeastFeedBytes + kLeastFeedBytes / 8);
  }
  const auto status = *feed({begin, places[100], places[190], places[199]});
  EXPECT_GT(status.kept.bytes, kLeastFeedBytes / 2);
  EXPECT_LT(status.kept.changes, 60U);
  EXPECT_TRUE(status.places[0].gone && status.places[1].gone);
  EXPECT_FALSE(status.places[2].gone);
  EXPECT_EQ(status.places[2].changes, 9U);
  EXPECT_EQ(status.places[3].changes, 0U);
  EXPECT_FALSE(status.places[3].oldest);
  EXPECT_TRUE(status.places[2].oldest);
  EXPECT_TRUE(from(begin).failed_with(ErrorCode::kChangesExpired));
  EXPECT_EQ(from(places[190])->changes.size(), 9U);
  EXPECT_EQ(all().size(), status.kept.changes);
  ASSERT_TRUE(run_task(service->collect_garbage()).has_value());
  EXPECT_EQ(rows('l'), status.kept.changes);
}

TEST_F(TableFeedsTest, AFeedAndAnIndexNeedTheLogForThemselves) {
  ASSERT_TRUE(follow(following_of("x")).has_value());
  ASSERT_TRUE(put_feed({.retention_s = 10}).has_value());
  const auto version = put("a", "1");
  clock.time += 20 * kSecond;
  let_go();
  EXPECT_EQ(all(), Told{});
  EXPECT_EQ(news("x"), Told{"p/a [] 1"}) << "the index has not dealt with it";
  ASSERT_TRUE(acknowledge("x", version).has_value());
  put("b", "1");
  ASSERT_TRUE(acknowledge("x", put("c", "1")).has_value());
  EXPECT_EQ(all().size(), 2U) << "the index has dealt with them, the feed keeps them";
  ASSERT_TRUE(run_task(service->unfollow("acct", "people", "x")).has_value());
  EXPECT_EQ(all().size(), 2U);
}

TEST_F(TableFeedsTest, AFeedThatHasEndedLeavesNothing) {
  ASSERT_TRUE(put_feed().has_value());
  const auto place = now();
  put("a", "1");
  ASSERT_TRUE(run_task(service->drop_feed("acct", "people")).has_value());
  put("a", "2");
  for (const char kind : {'f', 'h', 'l', 'd'}) EXPECT_EQ(rows(kind), 0U) << kind;
  ASSERT_TRUE(put_feed().has_value());
  EXPECT_TRUE(from(place).failed_with(ErrorCode::kChangesExpired)) << "the next one is another feed";
  EXPECT_EQ(all(), Told{});
}

TEST_F(TableFeedsTest, AFeedEndsBesideAnIndex) {
  ASSERT_TRUE(follow(following_of("x")).has_value());
  ASSERT_TRUE(put_feed().has_value());
  const auto place = now();
  put("a", "1");
  ASSERT_TRUE(run_task(service->drop_feed("acct", "people")).has_value());
  put("a", "2");
  EXPECT_EQ(news("x"), Told{"p/a [1] 2"});
  ASSERT_TRUE(put_feed().has_value());
  EXPECT_TRUE(from(place).failed_with(ErrorCode::kChangesExpired));
}

TEST_F(TableFeedsTest, AStoreThatWasClosedGoesOn) {
  ASSERT_TRUE(put_feed().has_value());
  const auto place = now();
  put("a", "1");
  reopen();
  put("a", "2");
  EXPECT_EQ(told(*from(place)), (Told{"insert p/a >1", "replace p/a 1>2"}));
  auto later = place;
  later.logs.front().version += 1'000'000'000;
  EXPECT_TRUE(from(later).failed_with(ErrorCode::kChangesExpired));
}

TEST_F(TableFeedsTest, IndexesAloneHaveTheNotesTheyAlwaysHad) {
  if (divided()) GTEST_SKIP() << "of one shard";
  ASSERT_TRUE(follow(following_of("x")).has_value());
  put("a", "Rome");
  put("a", "Bonn");
  const auto snapshot = engine->snapshot();
  for (auto cursor = snapshot->scan(kv::under("l")); cursor->valid(); cursor->next()) {
    const auto note = decode_note(cursor->value());
    EXPECT_FALSE(note->before_version || note->after);
  }
  auto record = read_feed(*snapshot, snapshot->scan(kv::under("f"))->key());
  EXPECT_FALSE((*record)->kept);
  const auto bytes = kFeedRecord.encode(**record);
  (*record)->kept = KeptRecord{.generation = 7, .gone = 9, .gone_index = 3};
  const auto with = kFeedRecord.encode(**record);
  EXPECT_TRUE(with.starts_with(bytes));
  EXPECT_EQ(kFeedRecord.decode(with)->kept->begin(), (LogPlace{9, 4}));
}

}  // namespace
}  // namespace tidemark::table_store
