// Followed tables over several shards: a log on each, positions and tokens with a place in each, and changes of the
// followers when a shard fails in between.
#include <gmock/gmock.h>

#include "kv_test_support.h"
#include "table_changes_fixture.h"
#include "table_store/storage/table_changes.h"
#include "table_store/storage/table_check.h"
#include "table_store/storage/table_keys.h"
#include "tests/support/damage.h"
#include "tests/support/refusing_engine.h"

namespace tidemark::table_store {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;
using Told = std::vector<std::string>;

struct FollowedShards : ::testing::Test {
  static constexpr std::size_t kShards = 4;

  FollowedShards() {
    for (auto& engine : engines) shards.all.push_back({engine, clock});
    restart();
    create();
  }
  void restart() {
    service = std::make_unique<TableService>(shards, clock, *random);
    EXPECT_TRUE(run_task(service->finish_drops()));
  }
  void create() { ASSERT_TRUE(run_task(service->create_table("acct", "people"))); }
  Result<void> drop() { return run_task(service->delete_table("acct", "people")); }
  /// Returns a partition on this shard.
  [[nodiscard]] std::string on(std::size_t shard) const {
    for (int i = 0;; ++i) {
      auto pk = "p" + std::to_string(i);
      if (shards.placement.of({"acct", "people", pk}) == shard) return pk;
    }
  }
  Result<Version> put(std::size_t shard, std::string row, std::string city = "Rome") {
    const auto done = run_task(service->mutate(
        "acct", "people", on(shard), {change(kInsertOrReplace, std::move(row), {text("City", std::move(city))})}, {}));
    if (!done) return fail(done.error());
    return done->outcomes[0].version;
  }
  Result<FollowerStatus> follow(bool anew = false, std::uint64_t max_changes = 1000) {
    auto following = following_of("x");
    following.max_changes = max_changes;
    return run_task(service->follow("acct", "people", following, anew));
  }
  ChangesPage read(Position after = {}, NotesRead skip = {}, std::uint32_t limit = 1000) {
    auto page = run_task(service->changed_entities("acct", "people", "x", std::move(after), skip, limit, Duration()));
    EXPECT_TRUE(page);
    return page ? std::move(*page) : ChangesPage{};
  }
  FollowerStatus status() {
    const auto all = service->followers("acct", "people");
    EXPECT_TRUE(all && all->size() == 1);
    return all && all->size() == 1 ? all->front() : FollowerStatus{};
  }
  Result<void> acknowledge(Position position) {
    return run_task(service->acknowledge("acct", "people", "x", std::move(position)));
  }
  Result<FeedStatus> put_feed(ChangeFeed feed = {.new_values = true}) {
    return run_task(service->put_feed("acct", "people", feed));
  }
  Result<FeedPage> changes(FeedStart start, FeedPlace place = {}, std::uint32_t limit = 1000) {
    return run_task(service->changes("acct", "people", {.start = start, .place = std::move(place), .limit = limit}));
  }
  static std::string told(const Change& change) {
    return change.kind == ChangeKind::kDrop ? "drop" : change.kind == ChangeKind::kCreate ? "create" : change.row_key;
  }
  static Told told(const FeedPage& page) {
    Told out;
    for (const auto& change : page.changes) out.push_back(told(change));
    return out;
  }
  static Told rows_of(const ChangesPage& page) {
    Told out;
    for (const auto& entity : page.entities) out.push_back(entity.row_key);
    return out;
  }
  std::vector<std::string> check() {
    std::vector<const kv::Engine*> all;
    for (const auto& engine : engines) all.push_back(&engine);
    kv::CheckRun run;
    EXPECT_TRUE(check_tables(all, shards.placement, run));
    return kv::told(run.report());
  }
  std::size_t notes(std::size_t shard) { return kv::keys_under(engines[shard], "l").size(); }

  StandingClock clock;
  std::unique_ptr<Random> random = make_seeded_random(7);
  std::array<kv::RefusingEngine, kShards> engines;
  shards::Shards shards{{}, shards::Placement(kShards, {2, 7, 1, 8})};
  std::unique_ptr<TableService> service;
};

TEST_F(FollowedShards, AreNotFollowedUnderAFenceThatIsOver) {
  for (const std::string op : {"a", "b", "c", "d", "e", "f"}) {  // with homes on several shards
    const auto fenced = [&](std::uint64_t epoch) {
      return run_task(service->follow("acct", "people", following_of("x"), false, {}, Fence{op, epoch, "", 0}));
    };
    ASSERT_TRUE(run_task(service->open_operation("acct", op, 2)));
    EXPECT_TRUE(fenced(1).failed_with(ErrorCode::kFenced)) << op;
    EXPECT_TRUE(fenced(2)) << op;
    ASSERT_TRUE(run_task(service->open_operation("acct", op, 3)));
    EXPECT_TRUE(fenced(2).failed_with(ErrorCode::kFenced)) << op;
    ASSERT_TRUE(run_task(service->unfollow("acct", "people", "x")));
    ASSERT_TRUE(run_task(service->close_operation("acct", op, 3)));
    EXPECT_TRUE(fenced(3).failed_with(ErrorCode::kFenced)) << op;
    EXPECT_TRUE(service->followers("acct", "people")->empty()) << op;
  }
}

TEST_F(FollowedShards, HaveALogEach) {
  ASSERT_TRUE(put(1, "before"));
  ASSERT_TRUE(follow());
  for (std::size_t shard = 0; shard < kShards; ++shard) ASSERT_TRUE(put(shard, std::to_string(shard)));
  for (std::size_t shard = 0; shard < kShards; ++shard) EXPECT_EQ(notes(shard), 1U);
  const auto page = read();
  EXPECT_THAT(rows_of(page), UnorderedElementsAre("0", "1", "2", "3"));
  EXPECT_EQ(page.through, page.as_of);
  EXPECT_THAT(page.through.shards, SizeIs(kShards));
  EXPECT_EQ(status().changes_behind, kShards);
  EXPECT_THAT(check(), IsEmpty());
  auto one = page.through;
  one.shards[2] = 0;
  ASSERT_TRUE(acknowledge(one));
  EXPECT_EQ(status().changes_behind, 1U) << "a shard whose changes were not dealt with";
  EXPECT_THAT(rows_of(read()), ElementsAre("2"));
  ASSERT_TRUE(acknowledge(page.through));
  EXPECT_EQ(status().changes_behind, 0U);
  EXPECT_FALSE(status().oldest);
  EXPECT_TRUE(acknowledge({{1, 1, 1, 1LL << 60}}).failed_with(ErrorCode::kInvalidInput));
  EXPECT_TRUE(acknowledge({std::vector<Version>(kShards + 1)}).failed_with(ErrorCode::kInvalidInput));
}

TEST_F(FollowedShards, ArePagedInTheOrderOfVersions) {
  ASSERT_TRUE(follow());
  Told expected;
  for (int i = 0; i < 30; ++i) {
    clock.time += Ticks(10);
    expected.push_back(std::to_string(100 + i));
    ASSERT_TRUE(put(static_cast<std::size_t>(i * 7 % 4), expected.back()));
  }
  for (const std::uint32_t limit : {1U, 3U, 1000U}) {
    Told all;
    ChangesPage page;
    do {
      page = read(page.through, page.skip, limit);
      std::ranges::move(rows_of(page), std::back_inserter(all));
    } while (page.more);
    EXPECT_EQ(all, expected) << limit;
  }
}

TEST_F(FollowedShards, ATransactionThatComesInPartsGoesOnWhereItWas) {
  std::vector<Mutation> many;
  for (int row = 0; row < 80; ++row) {
    std::vector<Property> large;
    for (int i = 0; i < 13; ++i) large.push_back(text("P" + std::to_string(i), std::string(32UL << 10, 'x')));
    ASSERT_TRUE(run_task(
        service->mutate("acct", "people", on(2), {change(kInsert, std::to_string(100 + row), std::move(large))}, {})));
    many.push_back(change(kMerge, std::to_string(100 + row), {text("City", "Rome")}));
  }
  ASSERT_TRUE(follow());
  ASSERT_TRUE(run_task(service->mutate("acct", "people", on(2), many, {})));
  auto page = read();
  ASSERT_EQ(page.skip.shard, 2U);
  ASSERT_GT(page.skip.notes, 0U);
  auto all = rows_of(page);
  // These have lower versions: this shard has not been told the time.
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(put(1, "other" + std::to_string(i)));
  while (page.more) {
    page = read(page.through, page.skip);
    std::ranges::move(rows_of(page), std::back_inserter(all));
  }
  std::ranges::sort(all);
  EXPECT_EQ(all.size(), 83U);
  EXPECT_EQ(std::ranges::unique(all).begin(), all.end()) << "each once";
}

TEST_F(FollowedShards, HaveTheirShareOfABound) {
  ASSERT_TRUE(follow(false, 4 * 2));
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(put(1, "a"));
  EXPECT_FALSE(status().stale);
  ASSERT_TRUE(put(1, "a"));
  EXPECT_TRUE(status().stale) << "on one shard, so it is";
  EXPECT_TRUE(read().stale);
  ASSERT_TRUE(put(2, "b"));
  const auto anew = follow(true, 4 * 2);
  ASSERT_TRUE(anew);
  EXPECT_FALSE(anew->stale);
  EXPECT_EQ(anew->changes_behind, 0U);
  EXPECT_EQ(anew->following.max_changes, 8U) << "it is told what it asked for";
  ASSERT_TRUE(put(2, "c"));
  EXPECT_THAT(rows_of(read()), ElementsAre("c"));
}

TEST_F(FollowedShards, AFollowerThatCouldNotBeMadeEverywhereIsMadeByTheNextAttempt) {
  for (std::size_t failing = 0; failing < kShards; ++failing) {
    if (failing == 0) {
      engines[kShards - 1].before_next = [&] { engines[0].refusing = true; };
    } else {
      engines[failing].refusing = true;
    }
    EXPECT_TRUE(follow().failed_with(ErrorCode::kServerBusy)) << failing;
    engines[failing].refusing = false;
    EXPECT_THAT(*service->followers("acct", "people"), IsEmpty()) << "it is not there before it is everywhere";
    EXPECT_THAT(check(), IsEmpty());
    if (failing % 2 == 0) restart();
    const auto begun = follow();
    ASSERT_TRUE(begun);
    EXPECT_EQ(begun->changes_behind, 0U);
    for (std::size_t shard = 0; shard < kShards; ++shard) ASSERT_TRUE(put(shard, std::to_string(failing)));
    EXPECT_THAT(rows_of(read(begun->position)), SizeIs(kShards)) << failing;
    EXPECT_THAT(check(), IsEmpty());
    ASSERT_TRUE(run_task(service->unfollow("acct", "people", "x")));
    EXPECT_EQ(kv::keys_under(engines[failing], "f").size(), 0U);
    EXPECT_EQ(kv::keys_under(engines[failing], "l").size(), 0U);
  }
}

TEST_F(FollowedShards, AChangeThatIsMadeAgainMovesNoPosition) {
  ASSERT_TRUE(follow());
  ASSERT_TRUE(put(1, "a"));
  const auto key = feed_key("acct", "people");
  const auto record = *read_feed(*engines[1].snapshot(), key);
  TableChange again{.kind = TableChangeKind::kFollow, .shards = kShards, .feed = record->feed, .table = "people"};
  again.following = following_of("x");
  again.anew = true;
  const auto make = [&](std::uint64_t version) {
    return run_task(engines[1].transact([&](kv::Transaction& txn) { return change_logs(txn, key, version, again); }));
  };
  ASSERT_TRUE(make(record->division->change));
  EXPECT_THAT(rows_of(read()), ElementsAre("a")) << "nothing that was noted since is lost";
  ASSERT_TRUE(make(record->division->change + 1));
  EXPECT_THAT(rows_of(read()), IsEmpty());
}

TEST_F(FollowedShards, WaitForATableOfTheNameUntilAllFollowersAreGone) {
  ASSERT_TRUE(follow());
  ASSERT_TRUE(drop());
  engines[2].refusing = true;
  EXPECT_FALSE(run_task(service->unfollow("acct", "people", "x")));
  engines[2].refusing = false;
  EXPECT_TRUE(run_task(service->create_table("acct", "people")).failed_with(ErrorCode::kServerBusy));
  clock.time += std::chrono::seconds(2);
  create();
  EXPECT_THAT(*service->followers("acct", "people"), IsEmpty());
  ASSERT_TRUE(put(2, "a"));
  EXPECT_THAT(check(), IsEmpty());
}

TEST_F(FollowedShards, EachTellsAFollowerOfADrop) {
  ASSERT_TRUE(follow());
  for (std::size_t shard = 0; shard < kShards; ++shard) ASSERT_TRUE(put(shard, std::to_string(shard)));
  ASSERT_TRUE(drop());
  create();
  ASSERT_TRUE(put(2, "new"));
  const auto page = read();
  EXPECT_TRUE(page.dropped);
  EXPECT_TRUE(page.more);
  EXPECT_THAT(page.entities, SizeIs(kShards));
  const auto rest = read(page.through, page.skip);
  EXPECT_FALSE(rest.dropped);
  EXPECT_THAT(rows_of(rest), ElementsAre("new"));
}

// Feeds

TEST_F(FollowedShards, AFeedGoesOnFromAnyPlace) {
  const auto declared = put_feed();
  ASSERT_TRUE(declared);
  EXPECT_THAT(declared->end.logs, SizeIs(kShards));
  Told expected;
  for (int i = 0; i < 20; ++i) {
    clock.time += Ticks(10);
    expected.push_back(std::to_string(100 + i));
    ASSERT_TRUE(put(static_cast<std::size_t>(i * 7 % 4), expected.back()));
  }
  for (const std::uint32_t limit : {1U, 3U, 1000U}) {
    Told all;
    auto page = changes(FeedStart::kOldest, {}, limit);
    for (;; page = changes(FeedStart::kPlace, page->next, limit)) {
      ASSERT_TRUE(page);
      std::ranges::move(told(*page), std::back_inserter(all));
      if (!page->more) break;
    }
    EXPECT_EQ(all, expected) << limit;
    EXPECT_THAT(told(*changes(FeedStart::kPlace, page->next)), IsEmpty());
  }
  const auto whole = changes(FeedStart::kOldest);
  for (std::size_t count = 0; count <= expected.size(); ++count) {
    const auto rest = changes(FeedStart::kPlace, place_behind(*whole, count));
    ASSERT_TRUE(rest);
    EXPECT_EQ(told(*rest), Told(expected.begin() + static_cast<std::ptrdiff_t>(count), expected.end()));
  }
  const auto status = service->feed_status("acct", "people", {place_behind(*whole, 15), FeedPlace{}});
  EXPECT_EQ(status->kept.changes, 20U);
  EXPECT_EQ(status->places[0].changes, 5U);
  EXPECT_FALSE(status->places[0].gone);
  EXPECT_TRUE(status->places[1].gone);
  EXPECT_THAT(check(), IsEmpty());
}

TEST_F(FollowedShards, APlaceOfAnotherNumberOfShardsIsRefused) {
  ASSERT_TRUE(put_feed());
  auto place = changes(FeedStart::kNow)->next;
  place.logs.pop_back();
  EXPECT_TRUE(changes(FeedStart::kPlace, place).failed_with(ErrorCode::kChangesExpired));
  place.logs.resize(kShards, {1LL << 60, 0});
  EXPECT_TRUE(changes(FeedStart::kPlace, place).failed_with(ErrorCode::kChangesExpired));
}

TEST_F(FollowedShards, ADropIsToldOnceAndAfterAllThatWasInTheTable) {
  ASSERT_TRUE(put_feed());
  for (int i = 0; i < 3; ++i) {
    for (std::size_t shard = 0; shard < kShards; ++shard) ASSERT_TRUE(put(shard, "old"));
  }
  // The later shards are far ahead of the first.
  clock.time += std::chrono::seconds(1);
  ASSERT_TRUE(put(3, "old"));
  clock.time -= std::chrono::seconds(1);
  ASSERT_TRUE(drop());
  create();
  for (std::size_t shard = 0; shard < kShards; ++shard) ASSERT_TRUE(put(shard, "new"));
  ASSERT_TRUE(drop());
  const auto whole = changes(FeedStart::kOldest);
  ASSERT_TRUE(whole);
  Told expected(13, "old");
  expected.emplace_back("drop");
  for (const auto* each : {"create", "new", "new", "new", "new", "drop"}) expected.emplace_back(each);
  auto all = told(*whole);
  std::ranges::sort(all.begin() + 14, all.begin() + 19);
  EXPECT_EQ(all, expected);
  for (std::size_t count = 0; count <= whole->changes.size(); ++count) {
    const auto rest = changes(FeedStart::kPlace, place_behind(*whole, count));
    ASSERT_TRUE(rest);
    EXPECT_THAT(rest->changes, SizeIs(whole->changes.size() - count)) << count;
  }
}

TEST_F(FollowedShards, ADropThatIsUnderWayIsToldOnceItIsOver) {
  ASSERT_TRUE(put_feed());
  for (std::size_t shard = 0; shard < kShards; ++shard) ASSERT_TRUE(put(shard, "old"));
  const auto begun = changes(FeedStart::kNow)->next;
  engines[2].refusing = true;
  EXPECT_FALSE(drop());
  engines[2].refusing = false;
  ASSERT_TRUE(put(0, "late")) << "the first shard has not dropped it yet";
  EXPECT_EQ(told(*changes(FeedStart::kPlace, begun)), Told{"late"});
  const auto now = changes(FeedStart::kNow)->next;
  restart();
  create();
  ASSERT_TRUE(put(1, "new"));
  const auto from_before = told(*changes(FeedStart::kPlace, begun)),
             from_within = told(*changes(FeedStart::kPlace, now));
  EXPECT_THAT(from_before, UnorderedElementsAre("late", "drop", "create", "new"));
  EXPECT_THAT(from_within, UnorderedElementsAre("drop", "create", "new"));
  EXPECT_EQ(from_before.at(1), "drop");
  EXPECT_EQ(from_within.at(0), "drop");
  EXPECT_THAT(check(), IsEmpty());
}

TEST_F(FollowedShards, AFeedThatHasEndedLeavesNothing) {
  ASSERT_TRUE(put_feed());
  ASSERT_TRUE(put(1, "a"));
  ASSERT_TRUE(run_task(service->drop_feed("acct", "people")));
  ASSERT_TRUE(run_task(service->collect_garbage()));
  for (auto& engine : engines) {
    for (const char kind : {'f', 'h', 'l', 'd'}) EXPECT_EQ(kv::keys_under(engine, std::string(1, kind)).size(), 0U);
  }
  EXPECT_TRUE(changes(FeedStart::kOldest).failed_with(ErrorCode::kFeedNotFound));
  EXPECT_THAT(check(), IsEmpty());
}

TEST_F(FollowedShards, TheCheckFindsAFollowerThatTheCatalogueDoesNotName) {
  ASSERT_TRUE(follow());
  const auto key = feed_key("acct", "people");
  auto record = *read_feed(*engines[2].snapshot(), key);
  record->followers.front().following.properties = {"Other"};
  ASSERT_TRUE(run_task(engines[2].transact([&](kv::Transaction& txn) -> Result<void> {
    txn.put(key, kFeedRecord.encode(*record));
    return {};
  })));
  EXPECT_THAT(check(), ElementsAre("reference: the catalogue does not say who follows the table on this shard"));
}

TEST_F(FollowedShards, ReadsRowsThatHaveNotChangedWhileTheLogsWereRead) {
  ASSERT_TRUE(follow());
  ASSERT_TRUE(put(1, "e"));
  ASSERT_TRUE(acknowledge(read().through));
  const auto list = [&] {
    Mutation row = copy_of("1", 5, {text("Keys", R"([[")" + on(1) + R"(","e"]])")}, Origin{"x", "", ""});
    return run_task(service->mutate("acct", "people", on(2), {row}, {}));
  };
  ASSERT_TRUE(list());
  ListedRequest request;
  request.table = request.entities = "people";
  request.rows = {on(2), "1", ""};
  request.property = "Keys";
  request.follower = "x";
  request.most = 10;
  request.beside = {"people", on(3), "none"};
  const auto settled = [&] {
    const auto page = run_task(service->find_listed(
        "acct", request, [&](std::string_view, std::size_t) { return std::vector<ListedKey>{{on(1), "e"}}; }));
    EXPECT_TRUE(page && page->rows.size() == 1);
    return page && page->rows.size() == 1 && page->rows[0].listed.at(0).settled;
  };
  EXPECT_TRUE(settled());
  ASSERT_TRUE(put(1, "e", "Bonn"));
  EXPECT_FALSE(settled()) << "its change waits on its own shard";
  ASSERT_TRUE(acknowledge(read().through));
  EXPECT_TRUE(settled());
}

}  // namespace
}  // namespace tidemark::table_store
