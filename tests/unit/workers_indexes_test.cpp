// Indexes that follow every write, with owners and keepers on stores in memory. Whatever is written, lost, repeated or
// done by a replaced owner, in the end the rows agree with a full scan of the table.
#include "index_rows_fixture.h"
#include "workers/indexes/stray_followers.h"

namespace tidemark::workers {
namespace {

constexpr const char* kByColour =
    R"({"kind":"lists","source":"Source","by":["Colour"],"destination":"ByColour","scrubPerSecond":100000})";
constexpr const char* kInBlobs =
    R"({"kind":"lists","source":"Source","by":["Colour"],"where":"blobs","container":"lists","prefix":"by-colour/",
        "scrubPerSecond":100000})";
constexpr const char* kInPartition =
    R"({"kind":"lists","source":"Source","by":["Size","Colour"],"where":"partition","destination":"Source"})";
constexpr const char* kColoursInPartition =
    R"({"kind":"lists","source":"Source","by":["Colour"],"where":"partition","destination":"ByColour",
        "scrubPerSecond":100000})";
constexpr const char* kUnique =
    R"({"kind":"lists","source":"Source","by":["Colour"],"destination":"ByColour","unique":true})";
constexpr const char* kBySize =
    R"({"kind":"copies","source":"Source","destination":"BySize","partitionKey":"{Size}",
        "rowKey":"{PartitionKey}_{RowKey}","properties":["Colour"],"filter":"Size ge 2","scrubPerSecond":100000})";
constexpr const char* kInside =
    R"({"kind":"copies","source":"Source","destination":"Source","partitionKey":"{PartitionKey}",
        "rowKey":"colour_{Colour}_{RowKey}"})";
constexpr const char* kTotals =
    R"({"kind":"summary","source":"Source","by":["Colour"],"of":"Size","destination":"Totals"})";

class WorkersIndexes : public IndexRowsFixture {
 protected:
  std::map<std::string, std::int64_t> violations(const Index& index) {
    std::map<std::string, std::int64_t> out;
    const auto page = run_beside(store_.violations(index.id, 1000, {}));
    EXPECT_TRUE(page.has_value());
    if (!page) return out;
    for (const auto& violation : page->violations) out[violation.group] = violation.count;
    return out;
  }
  void note(const Index& index, const std::string& group, const std::optional<indexes::Violation>& violation) {
    auto row = indexes::violation_row(index.id, group, violation);
    for (auto& mutation : row.mutations) write(std::move(mutation), row.partition_key, row.table);
  }
  void scrub(const Index& index) {
    const auto scrubs = progress(index).scrubs;
    ask(index.name, {.scrub = true});
    drive_until([&] { return progress(index).scrubs > scrubs; });
  }
  std::vector<std::string> followers(const std::string& table = "Source") {
    std::vector<std::string> out;
    const auto statuses = run_beside(tables_.followers(table));
    EXPECT_TRUE(statuses.has_value());
    if (!statuses) return out;
    for (const auto& status : *statuses) out.push_back(status.following.follower);
    return out;
  }
};

TEST_F(WorkersIndexes, AreBuiltAndFollowEveryWrite) {
  write_at_random(150);
  std::vector<Index> all;
  for (const auto& [name, text] : {std::pair("by-colour", kByColour),
                                   {"in-partition", kInPartition},
                                   {"by-size", kBySize},
                                   {"in-blobs", kInBlobs},
                                   {"inside", kInside},
                                   {"totals", kTotals}}) {
    all.push_back(declare(name, text));
  }
  start_keeper("w1");
  for (int round = 0; round < 6; ++round) {
    write_at_random(80);
    for (const auto& index : all) expect_true(index);
  }
  for (const auto& index : all) EXPECT_EQ(progress(index).wrong_ever, 0U) << index.name;
}

TEST_F(WorkersIndexes, SurviveLostRequestsAndAnswers) {
  const auto list = declare("by-colour", kByColour);
  const auto copies = declare("by-size", kBySize);
  const auto totals = declare("totals", kTotals);
  const auto blobs = declare("in-blobs", kInBlobs);
  start_keeper("w1");
  for (int round = 0; round < 5; ++round) {
    write_at_random(50);
    for (auto* link : {&table_link_, &blob_link_}) {
      link->before = [&](std::string) -> Task<Result<void>> {
        if (random_->below(8) == 0) co_return fail(ErrorCode::kUnavailable);
        co_return Result<void>{};
      };
      link->lose_reply = [&] { return random_->below(8) == 0; };
    }
    const auto until = clock_->monotonic() + 200ms;
    drive_until([&] { return clock_->monotonic() > until; });
    for (auto* link : {&table_link_, &blob_link_}) link->before = nullptr, link->lose_reply = nullptr;
    for (const auto& index : {list, copies, totals, blobs}) expect_true(index);
  }
}

TEST_F(WorkersIndexes, AnOwnerThatWasReplacedChangesNothing) {
  const auto index = declare("by-colour", kByColour);
  const auto sums = declare("totals", kTotals);
  const auto blobs = declare("in-blobs", kInBlobs);
  std::vector<std::shared_ptr<IndexOwner>> owners;
  for (std::uint64_t epoch = 1; epoch <= 8; ++epoch) {
    for (const auto& each : {index, sums, blobs}) {
      owners.push_back(IndexOwner::create(index_services(), each, epoch));
      owners.back()->start(io_.get_executor());
    }
    write_at_random(60);
  }
  for (const auto& each : {index, sums, blobs}) expect_true(each);
  for (std::size_t i = 0; i + 3 < owners.size(); ++i) {
    drive_until([&] { return owners[i]->ended(); });
  }
  for (auto& owner : owners) owner->stop();
  for (const auto& owner : owners) drive_until([&] { return owner->ended(); });
}

TEST_F(WorkersIndexes, AreTakenOverFromAKeeperThatDoesNotLive) {
  const auto index = declare("by-colour", kByColour);
  jobs::Owner dead{.worker = "dead", .epoch = 7, .beat = 3};
  ASSERT_TRUE(run(store_.swap_owner("keeper dead", dead)).value_or(false));
  jobs::Owner owner{.worker = "dead", .epoch = 7};
  ASSERT_TRUE(run(store_.swap_owner(index.id, owner)).value_or(false));
  write_at_random(30);
  start_keeper("w1");
  expect_true(index);
  EXPECT_EQ(run_beside(store_.owner(index.id))->epoch, 8U);
}

TEST_F(WorkersIndexes, AreSharedByKeepers) {
  std::vector<Index> all;
  for (int i = 0; i < 4; ++i) {
    const auto text =
        R"({"kind":"lists","source":"Source","by":["Colour"],"destination":"Table)" + std::to_string(i) + "\"}";
    all.push_back(declare("i" + std::to_string(i), text.c_str()));
  }
  const auto one = start_keeper("w1");
  const auto two = start_keeper("w2");
  drive_until([&] { return one->owned() + two->owned() == 4; });
  EXPECT_GT(one->owned(), 0U);
  EXPECT_GT(two->owned(), 0U);
  run_beside(one->stop());
  drive_until([&] { return two->owned() == 4; });
  write_at_random(20);
  for (const auto& index : all) expect_true(index);
}

/// All changes come at once, and are more than a transaction can take.
TEST_F(WorkersIndexes, HaveRoomForAnyNumberOfEntitiesOfAValue) {
  const std::string long_key(450, 'x');
  for (int i = 0; i < 4'800; i += 100) {
    std::vector<Mutation> some;
    for (int j = i; j < i + 100; ++j) some.push_back(entity(long_key + std::to_string(j), "red", j % 7));
    ASSERT_TRUE(run_beside(tables_.mutate("Source", "p", std::move(some), std::nullopt)).has_value());
  }
  start_keeper("w1");
  for (const auto& [name, text] : {std::pair("by-colour", kByColour), std::pair("totals", kTotals)}) {
    const auto index = declare(name, text);
    wait_until_ready(index);
    std::size_t listed = 0;
    for (const auto& row : rows_in(index.definition.destination())) {
      if (row.row_key != indexes::kSummaryRow) listed += indexes::read_piece(row)->entries.size();
    }
    EXPECT_EQ(listed, 4'800U) << name;
    EXPECT_EQ(progress(index).wrong_ever, 0U) << name;
  }
}

TEST_F(WorkersIndexes, LoseTheirRowsWhenTheTableIsDropped) {
  const auto index = declare("by-colour", kByColour);
  const auto sums = declare("totals", kTotals);
  const auto copies = declare("by-size", kBySize);
  const auto inside = declare("inside", kInside);
  const auto in_partition = declare("in-partition", kInPartition);
  const auto blobs = declare("in-blobs", kInBlobs);
  start_keeper("w1");
  write_at_random(80);
  for (const auto& each : {index, sums, copies, inside, in_partition, blobs}) expect_true(each);
  run_beside(keepers_.back()->stop());
  ASSERT_TRUE(run_beside(tables_.delete_table("Source")).has_value());
  start_keeper("w2");  // while there is no table
  drive_until([&] { return actual(index).empty() && actual(sums).empty() && actual(copies).empty(); });
  for (const auto& each : {inside, in_partition, blobs}) drive_until([&] { return caught_up(each); });
  EXPECT_FALSE(*run_beside(tables_.table_exists("Source"))) << "an index made the table again";
  ASSERT_TRUE(run_beside(tables_.create_table("Source")).has_value());
  EXPECT_TRUE(actual(blobs).empty());
  write_at_random(40);
  for (const auto& each : {index, sums, copies, inside, in_partition, blobs}) expect_true(each);
}

TEST_F(WorkersIndexes, LoseTheirViolationsWhenTheTableIsDropped) {
  const auto inside = declare("inside", R"({"kind":"lists","source":"Source","by":["Colour"],"where":"partition",
                                            "destination":"Source","unique":true})");
  const auto across = declare("across", kUnique);
  start_keeper("w1");
  for (const auto* row : {"r1", "r2"}) write(entity(row, "red", 1), "p");
  for (const auto& each : {inside, across}) {
    wait_until_ready(each);
    EXPECT_EQ(violations(each).size(), 1U) << each.name;
  }
  ASSERT_TRUE(run_beside(tables_.delete_table("Source")).has_value());
  for (const auto& each : {inside, across}) {
    drive_until([&] { return caught_up(each); });
    EXPECT_TRUE(violations(each).empty()) << each.name;
  }
  ASSERT_TRUE(run_beside(tables_.create_table("Source")).has_value());
  for (const auto* row : {"r1", "r2"}) write(entity(row, "blue", 1), "p");
  wait_until_ready(inside);
  EXPECT_EQ(violations(inside), (std::map<std::string, std::int64_t>{{"p,blue", 2}}));
  // When the owner learns that the table was dropped, there is a new table, in which the value is violated again.
  run_beside(keepers_.back()->stop());
  write(entity("r3", "green", 1), "p");
  ASSERT_TRUE(run_beside(tables_.delete_table("Source")).has_value());
  ASSERT_TRUE(run_beside(tables_.create_table("Source")).has_value());
  for (const auto* row : {"r1", "r2", "r3"}) write(entity(row, "blue", 1), "p");
  start_keeper("w2");
  wait_until_ready(inside);
  EXPECT_EQ(violations(inside), (std::map<std::string, std::int64_t>{{"p,blue", 3}}));
}

/// The violations are as an earlier version left them when the table was dropped.
TEST_F(WorkersIndexes, LoseViolationsOfGroupsThatAreGoneInAScrub) {
  const auto inside = declare("inside", R"({"kind":"lists","source":"Source","by":["Colour"],"where":"partition",
                                            "destination":"Source","unique":true})");
  const auto across = declare("across", kUnique);
  for (const auto* row : {"r1", "r2"}) write(entity(row, "a,b", 1), "p,q");
  start_keeper("w1");
  for (const auto& each : {inside, across}) {
    wait_until_ready(each);
    const auto violated = violations(each);
    EXPECT_EQ(violated.size(), 1U) << each.name;
    const std::string group = each.id == across.id ? "gone" : "p,q,gone";
    auto note = indexes::violation_row(each.id, group, indexes::Violation{group, 2, R"([["p,q","r8"],["p,q","r9"]])"});
    write(std::move(note.mutations.front()), note.partition_key, note.table);
    EXPECT_EQ(violations(each).size(), 2U) << each.name;
    ask(each.name, {.scrub = true});
    drive_until([&] { return violations(each) == violated; });
  }
}

TEST_F(WorkersIndexes, AreBuiltAnewByWhoeverFindsThemStale) {
  const auto index = declare("by-colour", kByColour);
  start_keeper("w1");
  write_at_random(60);
  expect_true(index);
  run_beside(keepers_.back()->stop());
  write_at_random(60);
  // The owner wrote that the index is stale, made it follow anew, and died.
  auto found = progress(index);
  found.state = indexes::kStale;
  const table_store::Fence fence{"index/" + index.id, 1ULL << 50, "", 0};
  ASSERT_TRUE(run_beside(store_.write_progress(index.id, found, fence)).has_value());
  const table_store::Following following{index.id, index.definition.key_properties()};
  ASSERT_TRUE(run_beside(tables_.follow("Source", following, true, std::nullopt, std::nullopt)).has_value());
  jobs::Owner owner = *run_beside(store_.owner(index.id));
  owner.epoch = 1 << 20;
  ASSERT_TRUE(*run_beside(store_.swap_owner(index.id, owner)));
  start_keeper("w2");
  drive_until([&] { return progress(index).state == indexes::kReady; });
  expect_true(index);
}

TEST_F(WorkersIndexes, LeaveNothingWhenTheyAreDropped) {
  const auto index = declare("inside", kInside);
  const auto list = declare("in-partition", kInPartition);
  start_keeper("w1");
  write_at_random(80);
  expect_true(index);
  const auto before = originals();
  ask("inside", {.drop = true});
  ask("in-partition", {.drop = true});
  drive_until([&] {
    return !run_beside(store_.find("inside"))->has_value() && !run_beside(store_.find("in-partition"))->has_value();
  });
  EXPECT_EQ(rows_in("Source").size(), before.size());
  EXPECT_TRUE(run_beside(tables_.followers("Source"))->empty());
  const auto again = declare("inside", kInside);
  expect_true(again);
}

/// The owner that dropped the index died before it could say so, and the next owner had seen the index before.
TEST_F(WorkersIndexes, AreNotTakenOverOnceTheyAreGone) {
  const auto index = declare("by-colour", kByColour);
  int changes = 0;
  table_link_.before = [&](const std::string& method) -> Task<Result<void>> {
    const bool claims = method == "table.mutate" && ++changes == 2;  // the first shows that the keeper lives
    if (!claims) co_return Result<void>{};
    Mutation erasure;
    erasure.kind = MutationKind::kErase;
    erasure.row_key = "by-colour";
    auto gone = table_service_.mutate(kAccount, std::string(indexes::kIndexTable), "definitions", {erasure}, {});
    EXPECT_TRUE((co_await std::move(gone)).has_value());
    co_return Result<void>{};
  };
  start_keeper("w1");
  drive_until([&] { return changes >= 3; });
  drive_until([&] { return run_beside(store_.owner(index.id))->version == 0; });
  EXPECT_TRUE(run_beside(tables_.followers("Source"))->empty());
  EXPECT_FALSE(run_beside(store_.progress(index.id))->has_value());
  table_link_.before = nullptr;
}

TEST_F(WorkersIndexes, NeverTouchWhatIsNotTheirs) {
  Mutation foreign = entity("p0_r1", "mine", 5);
  ASSERT_TRUE(run(tables_.create_table("BySize")).has_value());
  ASSERT_TRUE(run(tables_.create_table("ByColour")).has_value());
  write(foreign, "3", "BySize");
  write(entity("keys_ffffffffffffffff", "mine", 5), "red", "ByColour");
  const auto copies = declare("by-size", kBySize);
  const auto list = declare("by-colour", kByColour);
  write(entity("r1", "red", 3), "p0");
  write(entity("r2", "red", 3), "p0");
  start_keeper("w1");
  wait_until_ready(copies);
  wait_until_ready(list);
  EXPECT_EQ(progress(copies).in_the_way, 1U);
  EXPECT_NE(progress(copies).in_the_way_examples.find("BySize/3/p0_r1"), std::string::npos);
  EXPECT_GE(progress(list).in_the_way, 1U);
  auto erasure = entity("r1", "", -1);
  erasure.kind = MutationKind::kErase;
  write(erasure, "p0");
  wait_until_ready(copies);
  wait_until_ready(list);
  for (const auto& [table, partition, row] :
       {std::tuple("BySize", "3", "p0_r1"), {"ByColour", "red", "keys_ffffffffffffffff"}}) {
    const auto kept = run_beside(tables_.get(table, partition, row));
    ASSERT_TRUE(kept && *kept) << table;
    EXPECT_EQ(jobs::property_or<std::string>(**kept, "Colour"), "mine");
  }
}

TEST_F(WorkersIndexes, AreMendedByAScrub) {
  const auto index = declare("by-colour", kByColour);
  const auto copies = declare("by-size", kBySize);
  const auto sums = declare("totals", kTotals);
  start_keeper("w1");
  write_at_random(150);
  for (const auto& each : {index, copies, sums}) expect_true(each);
  std::uint64_t removed = 0;
  for (const auto* table : {"ByColour", "BySize", "Totals"}) {
    for (const auto& row : rows_in(table)) {
      if (random_->below(3) > 0) continue;
      auto erasure = entity(row.row_key, "", -1);
      erasure.kind = MutationKind::kErase;
      write(erasure, row.partition_key, table);
      ++removed;
    }
  }
  ASSERT_GT(removed, 0U);
  for (const auto* name : {"by-colour", "by-size", "totals"}) ask(name, {.scrub = true});
  for (const auto& each : {index, copies, sums}) {
    drive_until([&] { return progress(each).scrubs == 1; });
    EXPECT_EQ(actual(each), wanted(each)) << each.name;
    EXPECT_GT(progress(each).proven, 0);
  }
  EXPECT_GT(progress(copies).wrong, 0U);
  for (const auto* name : {"by-colour", "by-size", "totals"}) ask(name, {.scrub = true});
  for (const auto& each : {index, copies, sums}) {
    drive_until([&] { return progress(each).scrubs == 2; });
    EXPECT_EQ(progress(each).wrong, 0U) << each.name;
  }
}

/// In a partition, the rows of New_York are between those of New.
TEST_F(WorkersIndexes, KeepValuesApartThatBeginAlike) {
  const auto index = declare("by-colour", kColoursInPartition);
  start_keeper("w1");
  for (const std::string longer : {"New_York", "New_0", "New_00", "New_a_b"}) write(entity(longer, longer, 1), "p");
  wait_until_ready(index);
  for (int i = 0; i < 12; ++i) {
    write(entity("n" + std::to_string(i), "New", 1), "p");
    expect_true(index);
  }
  auto erasure = entity("n3", "", -1);
  erasure.kind = MutationKind::kErase;
  write(erasure, "p");
  expect_true(index);
  scrub(index);
  EXPECT_EQ(progress(index).wrong_ever, 0U);
}

TEST_F(WorkersIndexes, PassOverAnyNumberOfValuesThatBeginAlike) {
  const auto index = declare("by-colour", kColoursInPartition);
  start_keeper("w1");
  for (int i = 0; i < 2 * table_store::kMostPassedOver; i += 100) {
    std::vector<Mutation> some;
    for (int j = i; j < i + 100; ++j) some.push_back(entity(std::to_string(j), "New_a" + std::to_string(j), 1));
    ASSERT_TRUE(run_beside(tables_.mutate("Source", "p", std::move(some), std::nullopt)).has_value());
  }
  wait_until_ready(index);
  for (int i = 0; i < 6; ++i) {
    write(entity("n" + std::to_string(i), "New", 1), "p");
    wait_until_ready(index);
  }
  expect_true(index);
}

/// The rows are as an earlier version left them.
TEST_F(WorkersIndexes, AreMendedWhereGroupsWereMixedUp) {
  const auto index = declare("by-colour", kColoursInPartition);
  start_keeper("w1");
  for (int i = 0; i < 4; ++i) write(entity("r" + std::to_string(i), i < 3 ? "New" : "New_York", 1), "p");
  expect_true(index);
  const std::string row = "by-colour_New_ffffffffffffffff";
  const auto right = *run_beside(tables_.get("ByColour", "p", row));
  ASSERT_TRUE(right.has_value());
  auto wrong =
      jobs::copy_of(row, right->version, {{"Group", "New_York"}, {"Count", 2}, {"Keys", R"([["p","r3"],["p","r0"]])"}});
  wrong.origin = Origin{index.id, "", ""};
  write(wrong, "p", "ByColour");
  wrong.row_key = "by-colour_Newark_ffffffffffffffff";  // no entity has this value
  write(wrong, "p", "ByColour");
  scrub(index);
  EXPECT_EQ(actual(index), wanted(index));
  scrub(index);
  EXPECT_EQ(progress(index).wrong, 0U);
}

TEST_F(WorkersIndexes, BeginAnewWhenTheyFellTooFarBehind) {
  const auto text = R"({"kind":"lists","source":"Source","by":["Colour"],"destination":"ByColour","maxChanges":20})";
  const auto index = declare("by-colour", text);
  start_keeper("w1");
  write_at_random(10);
  expect_true(index);
  ask("by-colour", {.paused = true});
  const auto is_stale = [&] {
    const auto statuses = run_beside(tables_.followers("Source"));
    return statuses && !statuses->empty() && statuses->front().stale;
  };
  drive_until([&] {
    write_at_random(10);
    return is_stale();
  });
  ask("by-colour", {.paused = false});
  drive_until([&] { return !is_stale(); });
  expect_true(index);
}

TEST_F(WorkersIndexes, AreBuiltAgainWhileTheyServe) {
  const auto index = declare("by-colour", kByColour);
  start_keeper("w1");
  write_at_random(60);
  expect_true(index);
  for (int round = 1; round <= 3; ++round) {
    ask("by-colour", {.rebuild = true});
    write_at_random(60);
    drive_until([&] { return progress(index).rebuilds == round; });
    expect_true(index);
  }
}

TEST_F(WorkersIndexes, TellOfEachNewViolationOnce) {
  const auto text = R"({"kind":"lists","source":"Source","by":["Colour"],"destination":"ByColour","unique":true,
                        "onViolation":{"url":"https://example.com/hook"}})";
  const auto index = declare("by-colour", text);
  start_keeper("w1");
  const auto told = [&] {
    std::vector<std::string> out;
    drive_until([&] {
      auto message = run_beside(queues_.receive("tidemark-jobs", 30s, 0s));
      if (message && *message) out.push_back((*message)->text);
      return message && !*message && run_beside(store_.untold(index.id))->violations.empty();
    });
    return out;
  };
  write(entity("r1", "red", 1), "p0");
  write(entity("r2", "blue", 1), "p0");
  wait_until_ready(index);
  EXPECT_TRUE(told().empty());
  write(entity("r3", "red", 1), "p0");
  const auto is_violated = [&](std::int64_t count) {
    const auto page = run_beside(store_.violations(index.id, 10, {}));
    return page && page->violations.size() == 1 && page->violations.front().count == count;
  };
  drive_until([&] { return is_violated(2); });
  wait_until_ready(index);
  const auto first = told();
  ASSERT_EQ(first.size(), 1U);
  for (const auto* part : {"https://example.com/hook", "index.violated", "by-colour", "red"}) {
    EXPECT_NE(first.front().find(part), std::string::npos) << first.front();
  }
  write(entity("r4", "red", 1), "p0");
  drive_until([&] { return is_violated(3); });
  wait_until_ready(index);
  EXPECT_TRUE(told().empty()) << "it is known";
  for (const auto* row : {"r3", "r4"}) write(entity(row, "green", 1), row);
  for (const auto* row : {"r3", "r4"}) {
    auto erasure = entity(row, "", -1);
    erasure.kind = MutationKind::kErase;
    write(erasure, "p0");
  }
  wait_until_ready(index);
  EXPECT_EQ(told().size(), 1U) << "green";
  write(entity("r2", "red", 1), "p0");
  drive_until([&] { return run_beside(store_.violations(index.id, 10, {}))->violations.size() == 2; });
  wait_until_ready(index);
  EXPECT_EQ(told().size(), 1U) << "red, once more";
}

TEST_F(WorkersIndexes, JudgeAValueByAllItsPieces) {
  const auto index = declare("by-colour", kUnique);
  start_keeper("w1");
  const auto row = [](int number) { return std::string(450, 'x') + std::to_string(number); };
  std::vector<Mutation> all;
  for (int i = 0; i < 100; ++i) all.push_back(entity(row(i), "red", 1));
  ASSERT_TRUE(run_beside(tables_.mutate("Source", "p", std::move(all), std::nullopt)).has_value());
  wait_until_ready(index);
  std::uint64_t bound = ~0ULL;
  for (const auto& piece : rows_in("ByColour")) bound = std::min(bound, indexes::read_piece(piece)->bound);
  ASSERT_NE(bound, ~0ULL) << "it has one piece";
  std::vector<int> low, high;
  for (int i = 0; i < 100; ++i) (indexes::entry_hash("p", row(i)) <= bound ? low : high).push_back(i);
  const auto make_unique = [&](const std::vector<int>& rows, std::size_t from) {
    for (auto i = from; i < rows.size(); ++i) write(entity(row(rows[i]), "u" + std::to_string(rows[i]), 1), "p");
    wait_until_ready(index);
  };
  using Violations = std::map<std::string, std::int64_t>;
  make_unique(low, 1);
  make_unique(high, 1);
  EXPECT_EQ(violations(index), (Violations{{"red", 2}})) << "one in each";
  make_unique(high, 0);
  EXPECT_EQ(violations(index), Violations{}) << "one is left";
  write(entity(row(high[0]), "red", 1), "p");
  wait_until_ready(index);
  EXPECT_EQ(violations(index), (Violations{{"red", 2}})) << "in a piece that is new";
  make_unique(low, 0);
  EXPECT_EQ(violations(index), Violations{}) << "the lower piece went";
}

TEST_F(WorkersIndexes, FindViolationsThatWereNotNoted) {
  const auto index = declare("by-colour", kUnique);
  start_keeper("w1");
  for (const auto& [name, colour] : {std::pair("r1", "red"), {"r2", "red"}, {"r3", "blue"}}) {
    write(entity(name, colour, 1), "p");
  }
  wait_until_ready(index);
  note(index, "red", std::nullopt);
  note(index, "blue", indexes::Violation{"blue", 2, "[]"});
  scrub(index);
  EXPECT_EQ(violations(index), (std::map<std::string, std::int64_t>{{"red", 2}}));
}

/// The violation was noted, but then the piece could not be written.
TEST_F(WorkersIndexes, ForgetTheViolationOfAValueThatNothingHasAnyMore) {
  const auto index = declare("by-colour", kUnique);
  start_keeper("w1");
  write(entity("r1", "red", 1), "p");
  wait_until_ready(index);
  for (const std::string colour : {"red", "blue"}) {  // blue has no piece yet
    int changes = 0;
    table_link_.before = [&](std::string method) -> Task<Result<void>> {
      if (method == "table.mutate_all" && ++changes > 1) co_return fail(ErrorCode::kUnavailable);
      co_return Result<void>{};
    };
    std::vector<Mutation> more{entity("r2", colour, 1), entity("r3", colour, 1)};
    ASSERT_TRUE(run_beside(tables_.mutate("Source", "p", std::move(more), std::nullopt)).has_value());
    drive_until([&] { return changes > 1; });
    EXPECT_EQ(violations(index).count(colour), 1U);
    for (const auto* row : {"r1", "r2", "r3"}) {
      auto erasure = entity(row, "", -1);
      erasure.kind = MutationKind::kErase;
      write(erasure, "p");
    }
    table_link_.before = nullptr;
    wait_until_ready(index);
    EXPECT_TRUE(rows_in("ByColour").empty());
    EXPECT_TRUE(violations(index).empty()) << colour;
  }
}

/// The owner was away while another owner dropped the index.
TEST_F(WorkersIndexes, ThatAreGoneFollowNoTable) {
  const auto index = declare("by-colour", kByColour);
  const auto late = IndexOwner::create(index_services(), index, 1);
  const auto later = IndexOwner::create(index_services(), index, 2);
  bool away = true;
  table_link_.before = [&](std::string method) -> Task<Result<void>> {
    while (away && method == "table.follow") co_await sleep_for(*clock_, 1ms);
    co_return Result<void>{};
  };
  late->start(io_.get_executor());
  drive_until([&] { return run_beside(tables_.read_operation("index/" + index.id))->epoch > 0; });
  ask("by-colour", {.drop = true});
  auto dropping = index;
  dropping.dropping = true;
  later->update(dropping);
  later->start(io_.get_executor());
  drive_until([&] { return later->ended(); });
  away = false;
  drive_until([&] { return late->ended(); });
  EXPECT_TRUE(followers().empty());
  // An owner that begins only now does not follow, either.
  const auto last = IndexOwner::create(index_services(), index, 3);
  last->start(io_.get_executor());
  drive_until([&] { return last->ended(); });
  EXPECT_TRUE(followers().empty());
  table_link_.before = nullptr;
}

TEST_F(WorkersIndexes, OnlyTheirFollowersOutliveThem) {
  const auto index = declare("by-colour", kByColour);
  start_keeper("w1");
  wait_until_ready(index);
  const auto stray = "gone-" + random_->guid();
  for (const auto& name : {stray, std::string("job bycolour"), std::string("somebody")}) {
    ASSERT_TRUE(run_beside(
        tables_.follow("Source", {.follower = name, .properties = {"Colour"}}, false, std::nullopt, std::nullopt)));
  }
  // A table's followers outlive it.
  ASSERT_TRUE(run_beside(tables_.create_table("Dropped")));
  ASSERT_TRUE(
      run_beside(tables_.follow("Dropped", {.follower = stray, .properties = {}}, false, std::nullopt, std::nullopt)));
  ASSERT_TRUE(run_beside(tables_.delete_table("Dropped")));
  ASSERT_EQ(run_beside(tables_.followed_tables()), (std::vector<std::string>{"Dropped", "Source"}));
  ASSERT_TRUE(run_beside(remove_stray_followers(services())).has_value());
  EXPECT_EQ(followers(), (std::vector<std::string>{index.id, "job bycolour", "somebody"}));
  EXPECT_EQ(run_beside(tables_.followed_tables()), (std::vector<std::string>{"Source"}));
}

/// The owner dies before each of its calls in turn. As long as the index is declared, another owner drops it.
TEST_F(WorkersIndexes, LeaveNothingWhereverADropIsInterrupted) {
  const auto other = declare("by-size", kBySize);
  start_keeper("w1");
  wait_until_ready(other);
  run_beside(keepers_.back()->stop());
  int fatal = 0;
  for (bool dies = true; dies;) {
    ++fatal;
    const auto id = declare("by-colour", kByColour).id;
    ask("by-colour", {.drop = true});
    jobs::Owner row{.worker = "w", .epoch = 1};
    ASSERT_TRUE(*run_beside(store_.swap_owner(id, row)));
    dies = false;
    for (std::uint64_t epoch = 1; epoch <= 2; ++epoch) {
      const auto index = *run_beside(store_.find("by-colour"));
      if (!index) break;
      const auto owner = IndexOwner::create(index_services(), *index, epoch);
      int calls = 0;
      if (epoch == 1) {
        table_link_.before = [&](std::string) -> Task<Result<void>> {
          dies = dies || ++calls == fatal;
          if (dies) co_return fail(ErrorCode::kUnavailable);
          co_return Result<void>{};
        };
      }
      owner->start(io_.get_executor());
      drive_until([&] { return (dies && epoch == 1) || owner->ended(); });
      owner->stop();
      drive_until([&] { return owner->ended(); });
      table_link_.before = nullptr;
    }
    const auto finished = run_beside(finish_drops(services()));
    ASSERT_TRUE(finished) << fatal << ": " << azure_name_of(finished.error().code) << " " << finished.error().detail;
    EXPECT_FALSE(*run_beside(store_.has_definition("by-colour", id))) << fatal;
    EXPECT_FALSE(*run_beside(store_.progress(id))) << fatal;
    EXPECT_EQ(run_beside(store_.owner(id))->version, 0) << fatal;
    EXPECT_TRUE(run_beside(tables_.read_operation(indexes::operation_of(id)))->closed) << fatal;
    EXPECT_EQ(followers(), std::vector<std::string>{other.id}) << fatal;
  }
  EXPECT_GT(fatal, 10);
  EXPECT_NE(run_beside(store_.owner(other.id))->version, 0);
  EXPECT_FALSE(run_beside(tables_.read_operation(indexes::operation_of(other.id)))->closed);
}

TEST_F(WorkersIndexes, KeepTheirFollowersWhileTheirRowsCannotBeRead) {
  const auto index = declare("by-colour", kByColour);
  start_keeper("w1");
  write_at_random(20);
  expect_true(index);
  const auto row = *run_beside(tables_.get(std::string(indexes::kIndexTable), "definitions", "by-colour"));
  ASSERT_TRUE(row.has_value());
  const auto put_definition = [&](const std::string& text) {
    Mutation mutation;
    mutation.kind = MutationKind::kInsertOrMerge;
    mutation.row_key = "by-colour";
    mutation.properties = {{"Definition", text}};
    write(std::move(mutation), "definitions", std::string(indexes::kIndexTable));
  };
  put_definition("{}");
  ASSERT_TRUE(run_beside(remove_stray_followers(services())).has_value());
  EXPECT_EQ(followers(), std::vector<std::string>{index.id});
  put_definition(jobs::property_or<std::string>(*row, "Definition"));
  write_at_random(20);
  expect_true(index);
  EXPECT_EQ(progress(index).wrong_ever, 0U);
}

TEST_F(WorkersIndexes, AreBuiltAnewWhenTheLogHasForgottenThem) {
  const auto index = declare("by-colour", kByColour);
  start_keeper("w1");
  write_at_random(60);
  expect_true(index);
  run_beside(keepers_.back()->stop());
  ASSERT_TRUE(run_beside(tables_.unfollow("Source", index.id)).has_value());
  write_at_random(60);
  start_keeper("w2");
  expect_true(index);
  EXPECT_EQ(progress(index).wrong_ever, 0U) << "a scrub has mended it";
}

TEST_F(WorkersIndexes, CountWhatIsInTheWayOnce) {
  const auto text = R"({"kind":"copies","source":"Source","destination":"ByName","partitionKey":"names",
                        "rowKey":"{Colour}","scrubPerSecond":100000})";
  const auto index = declare("by-name", text);
  write(entity("r1", "red", 1), "p");
  write(entity("r2", "red", 2), "p");
  write(entity("r3", "red", 3), "p");
  start_keeper("w1");
  wait_until_ready(index);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(progress(index).in_the_way, 2U);
    EXPECT_EQ(progress(index).in_the_way_examples, R"(["ByName/names/red"])") << "two want the key of a third";
    scrub(index);
  }
  write(entity("r2", "blue", 2), "p");
  write(entity("r3", "green", 3), "p");
  wait_until_ready(index);
  scrub(index);
  EXPECT_EQ(progress(index).in_the_way, 0U);
  EXPECT_TRUE(progress(index).in_the_way_examples.empty());
}

TEST_F(WorkersIndexes, GiveARowToWhoeverWantsItNext) {
  const auto text =
      R"({"kind":"copies","source":"Source","destination":"ByName","partitionKey":"names","rowKey":"{Colour}"})";
  const auto index = declare("by-name", text);
  start_keeper("w1");
  write(entity("r1", "red", 1), "p0");
  wait_until_ready(index);
  write(entity("r1", "blue", 1), "p0");
  write(entity("r2", "red", 2), "p0");
  expect_true(index);
  write(entity("r3", "blue", 3), "p0");  // its place is taken
  drive_until([&] { return progress(index).in_the_way > 0; });
  write(entity("r1", "green", 1), "p0");
  drive_until([&] { return actual(index) == wanted(index); });
  expect_true(index);
}

}  // namespace
}  // namespace tidemark::workers
