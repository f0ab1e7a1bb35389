// The parser, the evaluator, the planner and the scan over random rows and filters: against predicates built beside the
// filter's text, and against looking at every row.
#include "table_fixture.h"
#include "table_random_filter.h"
#include "table_store/storage/query_plan.h"

namespace tidemark::table_store {
namespace {

using reference::random_filter;
using reference::random_partition;
using reference::random_property;
using reference::random_row;
using reference::units_of;

std::string shown(const reference::Row& row) { return row.partition_key + "|" + row.row_key; }

Entity entity_of(const reference::Row& row) {
  Entity entity;
  entity.partition_key = row.partition_key;
  entity.row_key = row.row_key;
  entity.properties = row.properties;
  return entity;
}

struct TableQueryTest : TableFixture {
  reference::Rows rows;

  void SetUp() override {
    create("people");
    for (int i = 0; i < 80; ++i) {
      reference::Row row;
      row.partition_key = random_partition(*random);
      row.row_key = random_row(*random);
      for (auto n = random->below(4); n > 0; --n) {
        auto property = random_property(*random);
        if (row.find(property.name) == nullptr) row.properties.push_back(std::move(property));
      }
      const reference::Key key{units_of(row.partition_key), units_of(row.row_key)};
      if (!rows.emplace(key, row).second) continue;
      const auto insert = change(MutationKind::kInsert, row.row_key, row.properties);
      ASSERT_TRUE(mutate(std::vector<Mutation>{insert}, std::nullopt, row.partition_key).has_value());
    }
  }

  std::vector<std::string> run_query(const Filter& filter, std::uint32_t top, KeyBounds bounds = {}) {
    std::vector<std::string> keys;
    std::optional<Continuation> from;
    for (bool more = true; more;) {
      Query query;
      query.table = "people";
      query.filter = filter;
      query.top = top;
      query.from = from;
      query.bounds = bounds;
      std::size_t got = 0;
      auto result = run_task(service->query("acct", query, [&](const EntityView& e) {
        keys.push_back(std::string(e.partition_key) + "|" + std::string(e.row_key));
        ++got;
        return true;
      }));
      EXPECT_TRUE(result.has_value());
      if (!result) break;
      EXPECT_EQ(result->count, got);
      EXPECT_LE(got, top);
      more = result->next.has_value();
      from = result->next;
    }
    return keys;
  }
};

TEST_F(TableQueryTest, RandomFiltersMatchTheNaiveScan) {
  for (int i = 0; i < 3000; ++i) {
    const auto generated = random_filter(*random, static_cast<int>(random->below(5)));
    auto filter = Filter::parse(generated.text);
    ASSERT_TRUE(filter.has_value()) << generated.text << filter.error().message;
    std::vector<std::string> expected;
    for (const auto& [key, row] : rows) {
      ASSERT_EQ(filter->matches(entity_of(row)), generated.matches(row)) << generated.text << " on " << shown(row);
      if (generated.matches(row)) expected.push_back(shown(row));
    }
    ASSERT_EQ(run_query(*filter, 1 + static_cast<std::uint32_t>(random->below(9))), expected) << generated.text;
    const auto ranges = plan_query(*filter).ranges;
    for (std::size_t n = 1; n < ranges.size(); ++n) {
      ASSERT_FALSE(ranges[n - 1].keys.upper.empty());
      ASSERT_LE(ranges[n - 1].keys.upper, ranges[n].keys.lower);
    }
  }
}

TEST_F(TableQueryTest, BoundsClipEveryQuery) {
  for (int i = 0; i < 500; ++i) {
    KeyBounds bounds;
    if (random->below(2) == 0) bounds.start_pk = random_partition(*random);
    if (bounds.start_pk && random->below(2) == 0) bounds.start_rk = random_row(*random);
    if (random->below(2) == 0) bounds.end_pk = random_partition(*random);
    if (bounds.end_pk && random->below(2) == 0) bounds.end_rk = random_row(*random);
    const auto is_after = [&](const reference::Row& row) {
      if (!bounds.start_pk) return true;
      const auto partition = units_of(row.partition_key);
      const auto start = units_of(*bounds.start_pk);
      if (partition != start || !bounds.start_rk) return partition >= start;
      return units_of(row.row_key) >= units_of(*bounds.start_rk);
    };
    const auto is_before = [&](const reference::Row& row) {
      if (!bounds.end_pk) return true;
      const auto partition = units_of(row.partition_key);
      const auto end = units_of(*bounds.end_pk);
      if (partition != end || !bounds.end_rk) return partition <= end;
      return units_of(row.row_key) <= units_of(*bounds.end_rk);
    };
    const auto generated = random_filter(*random, static_cast<int>(random->below(4)));
    auto filter = Filter::parse(generated.text);
    ASSERT_TRUE(filter.has_value()) << generated.text;
    std::vector<std::string> expected, matching;
    for (const auto& [key, row] : rows) {
      if (!is_after(row) || !is_before(row)) continue;
      expected.push_back(shown(row));
      if (generated.matches(row)) matching.push_back(shown(row));
    }
    ASSERT_EQ(run_query(Filter(), 5, bounds), expected);
    ASSERT_EQ(run_query(*filter, 1 + static_cast<std::uint32_t>(random->below(9)), bounds), matching) << generated.text;
  }
}

TEST_F(TableQueryTest, ExactPageHasNoContinuation) {
  Query query;
  query.table = "people";
  query.top = static_cast<std::uint32_t>(rows.size());
  auto result = run_task(service->query("acct", query, [](const EntityView&) { return true; }));
  EXPECT_EQ(result->count, rows.size());
  EXPECT_FALSE(result->next);
  query.top = 1001;
  EXPECT_FALSE(run_task(service->query("acct", query, [](const EntityView&) { return true; })).has_value());
}

TEST_F(TableQueryTest, AListOfTablesIsDoneInBoundedSteps) {
  constexpr int kTables = 12'000;
  for (int i = 0; i < kTables; ++i) create("t" + std::to_string(100'000 + i));
  const auto wanted = *Filter::parse("TableName eq 't111999'");
  std::vector<std::string> names;
  std::string from;
  int pages = 0;
  for (bool more = true; more; ++pages) {
    auto page = run_task(service->list_tables("acct", wanted, 1000, from));
    ASSERT_TRUE(page.has_value());
    names.insert(names.end(), page->names.begin(), page->names.end());
    more = page->next.has_value();
    if (more) from = *page->next;
  }
  EXPECT_EQ(names, std::vector<std::string>{"t111999"});
  EXPECT_EQ(pages, 3);
}

/// Every reading is a step later.
class HurryingClock : public StandingClock {
 public:
  explicit HurryingClock(Duration step) : step_(step) {}
  [[nodiscard]] Time now() const override {
    return Time() + std::chrono::duration_cast<Time::duration>(step_ * ++looks_);
  }

 private:
  const Duration step_;
  mutable int looks_ = 0;
};

struct LargeTableTest : TableQueryTest {
  static constexpr int kRows = 2000;  // in partition "z", with n from 0 on
  void SetUp() override {
    TableQueryTest::SetUp();
    for (int i = 0; i < kRows; i += 100) {
      std::vector<Mutation> batch;
      for (int n = i; n < i + 100; ++n) {
        batch.push_back(change(MutationKind::kInsert, "row" + std::to_string(10000 + n), {{"n", std::int32_t{n}}}));
      }
      ASSERT_TRUE(mutate(batch, std::nullopt, "z").has_value());
    }
  }
};

/// A database that fails while a scan walks over it: a long walk cannot begin.
class EngineWithoutLongWalks final : public kv::Engine {
 public:
  explicit EngineWithoutLongWalks(kv::Engine& engine) : engine_(engine) {}
  [[nodiscard]] std::shared_ptr<const kv::Reader> snapshot() const override {
    return std::make_shared<Snapshot>(engine_.snapshot());
  }
  void submit(kv::TransactionBody body, kv::Completion done) override {
    engine_.submit(std::move(body), std::move(done));
  }
  void erase_ranges(std::vector<kv::KeyRange> ranges, kv::Completion done) override {
    engine_.erase_ranges(std::move(ranges), std::move(done));
  }
  [[nodiscard]] std::size_t queue_depth() const override { return 0; }

 private:
  struct NoWalk final : kv::Cursor {
    [[nodiscard]] bool valid() const override { return false; }
    void next() override { std::abort(); }
    [[nodiscard]] std::string_view key() const override { std::abort(); }
    [[nodiscard]] std::string_view value() const override { std::abort(); }
    [[nodiscard]] Result<void> status() const override { return fail(ErrorCode::kServerBusy); }
  };
  struct Snapshot final : kv::Reader {
    explicit Snapshot(std::shared_ptr<const kv::Reader> rows_) : rows(std::move(rows_)) {}
    [[nodiscard]] Result<std::optional<std::string>> get(std::string_view key) const override { return rows->get(key); }
    [[nodiscard]] std::unique_ptr<kv::Cursor> scan(const kv::KeyRange& range, kv::Direction direction) const override {
      return rows->scan(range, direction);
    }
    [[nodiscard]] std::unique_ptr<kv::Cursor> scan_long(const kv::KeyRange&) const override {
      return std::make_unique<NoWalk>();
    }
    std::shared_ptr<const kv::Reader> rows;
  };
  kv::Engine& engine_;
};

TEST_F(LargeTableTest, FailsIfTheDatabaseGoesAwayInTheMiddle) {
  EngineWithoutLongWalks away(*engine);
  TableService service(away, clock, *random);
  Query query;
  query.table = "people";
  query.filter = *Filter::parse("n eq 1999");
  const auto result = run_task(service.query("acct", query, [](const EntityView&) { return true; }));
  EXPECT_TRUE(result.failed_with(ErrorCode::kServerBusy));
}

TEST_F(LargeTableTest, GivesUpAfterFiveSecondsWithAContinuation) {
  HurryingClock hurrying(std::chrono::seconds(2));
  TableService slow(*engine, hurrying, *random);
  Query query;
  query.table = "people";
  query.filter = *Filter::parse("n eq 1999");
  auto result = run_task(slow.query("acct", query, [](const EntityView&) { return true; }));
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->count, 0U);
  ASSERT_TRUE(result->next);
}

TEST_F(LargeTableTest, EndsAfterThePatienceOfWhoAsksAndGoesOnExactlyThere) {
  HurryingClock hurrying(std::chrono::milliseconds(10));
  TableService slow(*engine, hurrying, *random);
  Query query;
  query.table = "people";
  query.filter = *Filter::parse("PartitionKey eq 'z' and n eq 1234");
  query.patience = std::chrono::milliseconds(50);
  std::uint64_t searched = 0;
  std::vector<std::string> found;
  int pages = 0;
  do {
    auto result = run_task(slow.query("acct", query, [&](const EntityView& entity) {
      found.emplace_back(entity.row_key);
      return true;
    }));
    ASSERT_TRUE(result.has_value());
    EXPECT_GT(result->searched, 0U);
    EXPECT_LT(result->searched, 500U) << "page " << pages << " was not in time";
    searched += result->searched;
    query.from = result->next;
    ++pages;
  } while (query.from);
  EXPECT_GT(pages, 4);
  EXPECT_EQ(searched, static_cast<std::uint64_t>(kRows)) << "each is read once";
  EXPECT_EQ(found, std::vector<std::string>{"row11234"});
}

TEST_F(LargeTableTest, NoPatienceIsLongerThanFiveSeconds) {
  HurryingClock hurrying(std::chrono::seconds(2));
  TableService slow(*engine, hurrying, *random);
  Query query;
  query.table = "people";
  query.filter = *Filter::parse("n eq 1999");
  query.patience = std::chrono::hours(1);
  auto result = run_task(slow.query("acct", query, [](const EntityView&) { return true; }));
  ASSERT_TRUE(result.has_value());
  EXPECT_TRUE(result->next);
}

}  // namespace
}  // namespace tidemark::table_store
