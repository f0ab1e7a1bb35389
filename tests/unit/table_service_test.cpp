#include "common/shards/operation_ledgers.h"
#include "table_fixture.h"
#include "table_store/model/limits.h"
#include "table_store/storage/test_switches.h"

namespace tidemark::table_store {
namespace {

using enum MutationKind;

struct TableServiceTest : TableFixture {
  void SetUp() override { create("People"); }
};

Property number(std::string name, std::int32_t value) { return {std::move(name), Value(value)}; }

TEST_F(TableServiceTest, NamesIgnoreCaseAndKeepIt) {
  EXPECT_TRUE(run_task(service->create_table("acct", "pEOPLE")).failed_with(ErrorCode::kTableAlreadyExists));
  EXPECT_EQ(run_task(service->find_table("acct", "PEOPLE")).value(), "People");
  EXPECT_TRUE(run_task(service->find_table("other", "People")).failed_with(ErrorCode::kTableNotFound));
  create("aztab");
  create("Beta");
  auto page = run_task(service->list_tables("acct", Filter(), 2, ""));
  ASSERT_TRUE(page.has_value());
  EXPECT_EQ(page->names, (std::vector<std::string>{"aztab", "Beta"}));
  EXPECT_EQ(page->next, "People");
  auto rest = run_task(service->list_tables("acct", Filter(), 2, *page->next));
  EXPECT_EQ(rest->names, std::vector<std::string>{"People"});
  EXPECT_FALSE(rest->next);
  auto filtered = run_task(service->list_tables("acct", *Filter::parse("TableName ge 'P'"), 10, ""));
  EXPECT_EQ(filtered->names, (std::vector<std::string>{"aztab", "People"}));  // the comparison itself is ordinal
}

TEST_F(TableServiceTest, DeletedTableLosesItsRows) {
  ASSERT_TRUE(mutate(change(kInsert, "a", {number("n", 1)})).has_value());
  ASSERT_TRUE(run_task(service->delete_table("acct", "PEOPLE")).has_value());
  EXPECT_TRUE(run_task(service->delete_table("acct", "people")).failed_with(ErrorCode::kResourceNotFound));
  EXPECT_TRUE(mutate(change(kInsert, "a")).failed_with(ErrorCode::kTableNotFound));
  auto snapshot = engine->snapshot();
  kv::KeyRange leftovers{"d", "f"};
  EXPECT_FALSE(snapshot->scan(leftovers)->valid());
  create("people");
  EXPECT_FALSE(get("a"));
}

TEST_F(TableServiceTest, AFencedDeleteIsDoneOncePerOperation) {
  const Fence fence{"op", 2, "tables"};
  ASSERT_TRUE(run_task(service->delete_table_fenced("acct", "people", fence)).has_value());
  EXPECT_EQ(run_task(service->read_operation("acct", "op"))->counter("tables"), 1U);
  create("People");
  EXPECT_TRUE(
      run_task(service->delete_table_fenced("acct", "people", {"op", 1, "tables"})).failed_with(ErrorCode::kFenced));
  EXPECT_TRUE(run_task(service->find_table("acct", "people")).has_value());
  EXPECT_EQ(run_task(service->read_operation("acct", "op"))->counter("tables"), 1U);
}

TEST_F(TableServiceTest, OnlyAClosedOperationIsForgotten) {
  ASSERT_TRUE(run_task(service->open_operation("acct", "op", 3)).has_value());
  ASSERT_TRUE(run_task(service->forget_operation("acct", "op")).has_value());
  EXPECT_EQ(run_task(service->read_operation("acct", "op"))->epoch, 3U);
  ASSERT_TRUE(run_task(service->close_operation("acct", "op", 3)).has_value());
  ASSERT_TRUE(run_task(service->forget_operation("acct", "op")).has_value());
  EXPECT_EQ(run_task(service->read_operation("acct", "op"))->epoch, 0U);
}

TEST_F(TableServiceTest, ACopyNamesTheOperationThatWroteItUntilItIsWrittenOtherwise) {
  auto copy = change(kInsertOrReplace, "a", {number("n", 1)});
  copy.source_version = 5;
  ASSERT_TRUE(mutate(copy, Fence{"op", 1, ""}).has_value());
  ASSERT_TRUE(mutate(change(kInsertOrReplace, "b"), Fence{"op", 1, ""}).has_value());  // not a copy
  EXPECT_EQ(get("a")->operation, "op");
  EXPECT_EQ(get("b")->operation, "");
  Query query;
  query.table = "people";
  query.operation = "op";
  std::vector<std::string> rows;
  std::function<bool(const EntityView&)> each = [&](const EntityView& entity) {
    rows.emplace_back(entity.row_key);
    return true;
  };
  ASSERT_TRUE(run_task(service->query("acct", query, each)).has_value());
  EXPECT_EQ(rows, std::vector<std::string>{"a"});
  ASSERT_TRUE(mutate(change(kMerge, "a", {number("n", 2)})).has_value());
  EXPECT_EQ(get("a")->operation, "");
}

TEST_F(TableServiceTest, ALenientCopyReplacesOnlyCopies) {
  ASSERT_TRUE(mutate(change(kInsert, "a", {number("n", 1)})).has_value());
  auto copy = change(kInsertOrReplace, "a", {number("n", 2)});
  copy.source_version = INT64_MAX;
  copy.lenient = true;
  EXPECT_EQ(mutate(copy)->outcomes[0].kind, WriteOutcome::kConflict);
  EXPECT_FALSE(get("a")->source_version);
  copy.row_key = "b";
  copy.source_version = 5;
  EXPECT_EQ(mutate(copy)->outcomes[0].kind, WriteOutcome::kApplied);
  copy.source_version = 6;
  EXPECT_EQ(mutate(copy)->outcomes[0].kind, WriteOutcome::kApplied);
}

TEST_F(TableServiceTest, EveryKindAgainstMissingAndExisting) {
  for (const auto kind : {kReplace, kMerge, kErase}) {
    auto missing = mutate(change(kind, "a"));
    ASSERT_TRUE(missing.failed_with(ErrorCode::kResourceNotFound));
    EXPECT_EQ(missing.error().index, std::size_t{0});
    EXPECT_TRUE(missing.error().fields.empty());
    auto lenient = change(kind, "a");
    lenient.lenient = true;
    EXPECT_EQ(mutate(lenient)->outcomes[0].kind, WriteOutcome::kMissing);
  }
  const auto first = mutate(change(kInsert, "a", {number("x", 1), number("y", 2)}))->outcomes[0];
  EXPECT_TRUE(mutate(change(kInsert, "a")).failed_with(ErrorCode::kEntityAlreadyExists));
  auto again = change(kInsert, "a");
  again.lenient = true;
  EXPECT_EQ(mutate(again)->outcomes[0].kind, WriteOutcome::kConflict);
  EXPECT_EQ(mutate(again)->outcomes[0].version, first.version);

  ASSERT_TRUE(mutate(change(kMerge, "a", {number("y", 3), number("z", 4)})).has_value());
  EXPECT_EQ(get("a")->properties.size(), 3U);
  EXPECT_EQ(*get("a")->find("y"), Value(3));
  EXPECT_EQ(*get("a")->find("x"), Value(1));
  ASSERT_TRUE(mutate(change(kInsertOrMerge, "a", {number("x", 9)})).has_value());
  EXPECT_EQ(*get("a")->find("x"), Value(9));
  ASSERT_TRUE(mutate(change(kReplace, "a", {number("q", 1)})).has_value());
  EXPECT_EQ(get("a")->properties.size(), 1U);
  ASSERT_TRUE(mutate(change(kInsertOrReplace, "b")).has_value());
  ASSERT_TRUE(mutate(change(kInsertOrMerge, "c")).has_value());
  EXPECT_EQ(mutate(change(kErase, "a"))->outcomes[0].version, 0);
  EXPECT_FALSE(get("a"));
  EXPECT_TRUE(get("b"));
  EXPECT_TRUE(get("c"));
}

TEST_F(TableServiceTest, IfVersion) {
  const auto version = mutate(change(kInsert, "a"))->outcomes[0].version;
  for (const auto kind : {kReplace, kMerge, kErase}) {
    auto stale = change(kind, "a");
    stale.if_version = version - 1;
    EXPECT_TRUE(mutate(stale).failed_with(ErrorCode::kUpdateConditionNotSatisfied));
    stale.lenient = true;
    EXPECT_EQ(mutate(stale)->outcomes[0].kind, WriteOutcome::kConflict);
  }
  auto good = change(kErase, "a");
  good.if_version = version;
  EXPECT_EQ(mutate(good)->outcomes[0].kind, WriteOutcome::kApplied);
  auto senseless = change(kInsert, "a");
  senseless.if_version = version;
  EXPECT_TRUE(mutate(senseless).failed_with(ErrorCode::kInvalidInput));
}

TEST_F(TableServiceTest, TransactionIsAllOrNothingAndNamesTheFailure) {
  auto failed = mutate({change(kInsert, "a"), change(kInsert, "b"), change(kErase, "nobody")});
  ASSERT_TRUE(failed.failed_with(ErrorCode::kResourceNotFound));
  EXPECT_EQ(failed.error().index, std::size_t{2});
  EXPECT_FALSE(get("a"));
  auto twice = mutate({change(kInsert, "a"), change(kErase, "a")});
  ASSERT_TRUE(twice.failed_with(ErrorCode::kInvalidDuplicateRow));
  EXPECT_EQ(twice.error().index, std::size_t{1});
  std::vector<Mutation> many;
  for (int i = 0; i < 100; ++i) many.push_back(change(kInsert, std::to_string(i)));
  auto more = many;
  more.push_back(change(kInsert, "more"));
  auto too_many = mutate(more);
  EXPECT_TRUE(too_many.failed_with(ErrorCode::kInvalidInput));
  EXPECT_EQ(too_many.error().index, std::size_t{99});
  auto done = mutate(many);
  ASSERT_TRUE(done.has_value());
  for (const auto& outcome : done->outcomes) EXPECT_EQ(outcome.version, done->outcomes[0].version);
}

TEST_F(TableServiceTest, PutIfNewer) {
  auto copy = change(kInsertOrReplace, "a", {number("n", 1)});
  copy.source_version = 50;
  EXPECT_EQ(mutate(copy)->outcomes[0].kind, WriteOutcome::kApplied);
  EXPECT_EQ(get("a")->source_version, 50);
  const auto version = get("a")->version;
  EXPECT_EQ(mutate(copy)->outcomes[0].kind, WriteOutcome::kUnchanged);
  EXPECT_EQ(get("a")->version, version);
  copy.source_version = 49;
  EXPECT_EQ(mutate(copy)->outcomes[0].kind, WriteOutcome::kSuperseded);
  auto erase = change(kErase, "a");
  erase.source_version = 49;
  EXPECT_EQ(mutate(erase)->outcomes[0].kind, WriteOutcome::kSuperseded);
  copy.source_version = 51;
  EXPECT_EQ(mutate(copy)->outcomes[0].kind, WriteOutcome::kApplied);
  // A user's write makes the entity's own version count.
  ASSERT_TRUE(mutate(change(kMerge, "a", {number("n", 2)})).has_value());
  EXPECT_FALSE(get("a")->source_version);
  copy.source_version = 52;
  EXPECT_EQ(mutate(copy)->outcomes[0].kind, WriteOutcome::kSuperseded);
  erase.source_version = get("a")->version;
  EXPECT_EQ(mutate(erase)->outcomes[0].kind, WriteOutcome::kApplied);
}

TEST_F(TableServiceTest, SwitchesTakeSafetyOut) {
  auto copy = change(kInsertOrReplace, "a", {number("n", 1)});
  copy.source_version = 50;
  ASSERT_TRUE(mutate(copy).has_value());
  copy.source_version = 40;
  test_switches().ignore_source_version = true;
  EXPECT_EQ(mutate(copy)->outcomes[0].kind, WriteOutcome::kApplied);
  test_switches().ignore_source_version = false;
  auto stale = change(kErase, "a");
  stale.if_version = 1;
  test_switches().ignore_if_version = true;
  EXPECT_EQ(mutate(stale)->outcomes[0].kind, WriteOutcome::kApplied);
  test_switches().ignore_if_version = false;
  ASSERT_TRUE(run_task(service->close_operation("acct", "op", 3)).has_value());
  shards::test_switches::ignore_fence = true;
  EXPECT_TRUE(mutate(change(kInsert, "a"), Fence{"op", 1, ""}).has_value());
  shards::test_switches::ignore_fence = false;
  EXPECT_TRUE(mutate(change(kErase, "a"), Fence{"op", 1, ""}).failed_with(ErrorCode::kFenced));
}

TEST_F(TableServiceTest, VersionsRiseOverRestartsAndClockJumps) {
  create("other");
  Version last = 0;
  for (int i = 0; i < 200; ++i) {
    clock.time += Ticks(i % 7 == 0 ? -100'000 : 500);
    if (i % 50 == 49) reopen();
    auto outcome = run_task(service->mutate("acct", i % 2 ? "other" : "people", "p",
                                            {change(kInsertOrReplace, std::to_string(i % 5))}, std::nullopt));
    ASSERT_GT(outcome->outcomes[0].version, last);
    last = outcome->outcomes[0].version;
  }
  const auto erased = mutate(change(kErase, "0"));
  EXPECT_GT(mutate(change(kInsert, "0"))->outcomes[0].version, last + 1);
}

TEST_F(TableServiceTest, VersionsDoNotEndInZero) {
  clock.time = Time(Ticks(17'638'913'331'864'610));
  const auto version = mutate(change(kInsert, "a"))->outcomes[0].version;
  EXPECT_EQ(version, 17'638'913'331'864'611);
  // A client that writes seven digits has the same text as the store.
  EXPECT_EQ(to_iso8601(Time(Ticks(version))), to_iso8601_7digits(Time(Ticks(version))));
  for (int i = 0; i < 20; ++i) EXPECT_NE(mutate(change(kInsertOrReplace, "a"))->outcomes[0].version % 10, 0);
}

TEST_F(TableServiceTest, Fences) {
  ASSERT_EQ(run_task(service->open_operation("acct", "op", 2))->epoch, 2U);
  EXPECT_TRUE(run_task(service->open_operation("acct", "op", 1)).failed_with(ErrorCode::kFenced));
  EXPECT_TRUE(mutate(change(kInsert, "a"), Fence{"op", 1, "moved"}).failed_with(ErrorCode::kFenced));
  EXPECT_FALSE(get("a"));
  auto missing = change(kErase, "nobody");
  missing.lenient = true;
  ASSERT_TRUE(mutate({change(kInsert, "a"), change(kInsert, "b"), missing}, Fence{"op", 3, "moved"}).has_value());
  auto ledger = run_task(service->count("acct", Fence{"op", 3, "skipped"}, 5));
  EXPECT_EQ(ledger->counter("moved"), 2U);
  EXPECT_EQ(ledger->counter("skipped"), 5U);
  EXPECT_EQ(ledger->epoch, 3U);
  // A transaction that fails leaves no trace in the ledger either.
  EXPECT_FALSE(mutate(change(kInsert, "a"), Fence{"op", 9, "moved"}).has_value());
  EXPECT_EQ(run_task(service->read_operation("acct", "op"))->epoch, 3U);
  EXPECT_TRUE(run_task(service->close_operation("acct", "op", 2)).failed_with(ErrorCode::kFenced));
  EXPECT_TRUE(run_task(service->close_operation("acct", "op", 3))->closed);
  EXPECT_TRUE(run_task(service->close_operation("acct", "op", 3))->closed);
  EXPECT_TRUE(run_task(service->close_operation("acct", "op", 4)).failed_with(ErrorCode::kFenced));
  EXPECT_TRUE(run_task(service->open_operation("acct", "op", 4))->closed);
  EXPECT_TRUE(mutate(change(kInsert, "z"), Fence{"op", 4, ""}).failed_with(ErrorCode::kFenced));
  EXPECT_TRUE(run_task(service->count("acct", Fence{"op", 3, "x"}, 1)).failed_with(ErrorCode::kFenced));
  EXPECT_EQ(run_task(service->read_operation("acct", "unknown"))->epoch, 0U);
}

TEST_F(TableServiceTest, LimitsAtAndOneOver) {
  EXPECT_TRUE(check_key(std::string(512, 'k')).has_value());
  EXPECT_FALSE(check_key(std::string(513, 'k')).has_value());
  for (const char* bad : {"a/b", "a\\b", "a#", "a?", "a\x01", "\x7F", "\xC2\x80", "\xC2\x9F", "\xFF"}) {
    EXPECT_FALSE(check_key(bad).has_value()) << bad;
  }
  for (const char* good : {"", "%'&+ ,\"", "\xC2\xA0", "\xF0\x9F\x98\x80"}) EXPECT_TRUE(check_key(good).has_value());
  EXPECT_TRUE(check_property_name(std::string(255, 'n')).has_value());
  EXPECT_TRUE(check_property_name(std::string(256, 'n')).failed_with(ErrorCode::kPropertyNameTooLong));
  EXPECT_TRUE(check_property_name("a-b").failed_with(ErrorCode::kPropertyNameInvalid));
  EXPECT_TRUE(check_value(Value(std::string(32768, 's'))).has_value());
  EXPECT_TRUE(check_value(Value(std::string(32769, 's'))).failed_with(ErrorCode::kPropertyValueTooLarge));
  EXPECT_TRUE(check_value(Value(Binary{std::string(65536, 's')})).has_value());
  EXPECT_FALSE(check_value(Value(Binary{std::string(65537, 's')})).has_value());
  EXPECT_TRUE(check_table_name("abc").has_value());
  EXPECT_TRUE(check_table_name("ab").failed_with(ErrorCode::kOutOfRangeInput));
  EXPECT_TRUE(check_table_name(std::string(64, 'a')).failed_with(ErrorCode::kOutOfRangeInput));
  EXPECT_TRUE(check_table_name("a-bc").failed_with(ErrorCode::kInvalidResourceName));
  EXPECT_TRUE(check_table_name("1abc").failed_with(ErrorCode::kInvalidResourceName));
  EXPECT_TRUE(check_table_name("Tables").failed_with(ErrorCode::kInvalidResourceName));
  std::vector<Property> many;
  for (int i = 0; i < 252; ++i) many.push_back(number("p" + std::to_string(i), i));
  EXPECT_TRUE(mutate(change(kInsert, "many", many)).has_value());
  EXPECT_TRUE(mutate(change(kMerge, "many", {number("one_more", 1)})).failed_with(ErrorCode::kTooManyProperties));
  many.push_back(number("p252", 1));
  EXPECT_TRUE(mutate(change(kInsert, "more", many)).failed_with(ErrorCode::kTooManyProperties));
  EXPECT_TRUE(mutate(change(kInsert, "x", {number("a", 1), number("a", 2)}))
                  .failed_with(ErrorCode::kDuplicatePropertiesSpecified));
  std::vector<Property> big;
  for (int i = 0; i < 16; ++i) big.push_back({"b" + std::to_string(i), Value(Binary{std::string(65000, 'x')})});
  EXPECT_TRUE(mutate(change(kInsert, "big", big)).has_value());
  EXPECT_TRUE(mutate(change(kMerge, "big", {{"c", Value(Binary{std::string(65000, 'x')})}}))
                  .failed_with(ErrorCode::kEntityTooLarge));
}

TEST_F(TableServiceTest, AclAndServiceProperties) {
  StoredPolicies acl{{"id", "2020", std::nullopt, "raud"}, {"only", {}, {}, {}}};
  ASSERT_TRUE(run_task(service->set_acl("acct", "people", acl)).has_value());
  auto got = service->get_acl("acct", "People");
  ASSERT_EQ(got->size(), 2U);
  EXPECT_EQ((*got)[0].start, "2020");
  EXPECT_FALSE((*got)[0].expiry);
  acl.resize(6);
  EXPECT_FALSE(run_task(service->set_acl("acct", "people", acl)).has_value());
  EXPECT_EQ(*service->get_service_properties("acct"), "");
  std::function<Result<std::string>(const std::string&)> add = [](const std::string& stored) -> Result<std::string> {
    return stored + "<x/>";
  };
  ASSERT_TRUE(run_task(service->set_service_properties("acct", add)).has_value());
  ASSERT_TRUE(run_task(service->set_service_properties("acct", add)).has_value());
  std::function<Result<std::string>(const std::string&)> refuse = [](const std::string&) -> Result<std::string> {
    return fail(ErrorCode::kInvalidXmlDocument);
  };
  EXPECT_TRUE(run_task(service->set_service_properties("acct", refuse)).failed_with(ErrorCode::kInvalidXmlDocument));
  EXPECT_EQ(*service->get_service_properties("acct"), "<x/><x/>");
}

}  // namespace
}  // namespace tidemark::table_store
