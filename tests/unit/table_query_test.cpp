// Random filters over random rows: the parser and evaluator against a naive evaluator built beside the text, and the
// planner and scan against looking at every row.
#include <map>

#include "common/kv/key_codec.h"
#include "table_fixture.h"
#include "table_store/model/query_plan.h"

namespace tidemark::table_store {
namespace {

using Predicate = std::function<bool(const Entity&)>;
struct Generated {
  std::string text;
  Predicate naive;
};

const char* const kKeys[] = {"", "a", "a'b", "ab", "b", "\xEE\x80\x80", "\xF0\x9F\x98\x80", "z"};
// The same keys in the order of UTF-16 code units: surrogates (D83D) sort before U+E000.
int ordinal(std::string_view key) {
  static const std::map<std::string_view, int> kOrder{
      {"", 0}, {"a", 1}, {"a'b", 2}, {"ab", 3}, {"b", 4}, {"z", 5}, {"\xF0\x9F\x98\x80", 6}, {"\xEE\x80\x80", 7}};
  return kOrder.at(key);
}

bool apply_op(int op, int a, int b) {
  switch (op) {
    case 0:
      return a == b;
    case 1:
      return a != b;
    case 2:
      return a > b;
    case 3:
      return a >= b;
    case 4:
      return a < b;
    default:
      return a <= b;
  }
}

std::string in_quotes(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? "''" : std::string(1, c);
  return out + "'";
}

Generated generate(Random& random, int depth) {
  static const char* const kOps[] = {"eq", "ne", "gt", "ge", "lt", "le"};
  const auto kind = random.below(depth > 0 ? 10 : 4);
  const auto op = static_cast<int>(random.below(6));
  if (kind < 3) {
    const bool pk = random.below(2) == 0;
    const std::string key = kKeys[random.below(8)];
    return {(pk ? "PartitionKey " : "RowKey ") + std::string(kOps[op]) + " " + in_quotes(key),
            [pk, op, key](const Entity& e) {
              return apply_op(op, ordinal(pk ? e.partition_key : e.row_key), ordinal(key));
            }};
  }
  if (kind == 3) {
    const auto literal = static_cast<int>(random.below(4));
    return {"n " + std::string(kOps[op]) + " " + std::to_string(literal), [op, literal](const Entity& e) {
              const auto* n = e.find("n");
              return n != nullptr && apply_op(op, std::get<std::int32_t>(*n), literal);
            }};
  }
  auto a = generate(random, depth - 1);
  if (kind == 4) return {"not (" + a.text + ")", [f = a.naive](const Entity& e) { return !f(e); }};
  auto b = generate(random, depth - 1);
  if (kind < 8) {
    return {"(" + a.text + ") and (" + b.text + ")",
            [f = a.naive, g = b.naive](const Entity& e) { return f(e) && g(e); }};
  }
  return {"(" + a.text + ") or (" + b.text + ")", [f = a.naive, g = b.naive](const Entity& e) { return f(e) || g(e); }};
}

struct TableQueryTest : TableFixture {
  std::vector<Entity> rows;  // in key order

  void SetUp() override {
    create("people");
    for (const auto* pk : kKeys) {
      for (const auto* rk : kKeys) {
        Entity row;
        row.partition_key = pk;
        row.row_key = rk;
        if (random->below(3) != 0) row.properties.push_back({"n", Value(static_cast<std::int32_t>(random->below(4)))});
        if (random->below(4) == 0) continue;
        auto insert = change(MutationKind::kInsert, rk, row.properties);
        ASSERT_TRUE(mutate(std::vector<Mutation>{insert}, std::nullopt, pk).has_value());
        rows.push_back(row);
      }
    }
    std::sort(rows.begin(), rows.end(), [](const Entity& a, const Entity& b) {
      return std::pair(ordinal(a.partition_key), ordinal(a.row_key)) <
             std::pair(ordinal(b.partition_key), ordinal(b.row_key));
    });
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
    const auto generated = generate(*random, static_cast<int>(random->below(5)));
    auto filter = Filter::parse(generated.text);
    ASSERT_TRUE(filter.has_value()) << generated.text << filter.error().message;
    std::vector<std::string> expected;
    for (const auto& row : rows) {
      ASSERT_EQ(filter->matches(row), generated.naive(row)) << generated.text;
      if (generated.naive(row)) expected.push_back(row.partition_key + "|" + row.row_key);
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
    if (random->below(2) == 0) bounds.start_pk = kKeys[random->below(8)];
    if (bounds.start_pk && random->below(2) == 0) bounds.start_rk = kKeys[random->below(8)];
    if (random->below(2) == 0) bounds.end_pk = kKeys[random->below(8)];
    if (bounds.end_pk && random->below(2) == 0) bounds.end_rk = kKeys[random->below(8)];
    std::vector<std::string> expected;
    for (const auto& row : rows) {
      const std::pair at(ordinal(row.partition_key), ordinal(row.row_key));
      const bool after = !bounds.start_pk ||
                         at >= std::pair(ordinal(*bounds.start_pk), bounds.start_rk ? ordinal(*bounds.start_rk) : -1);
      const bool before =
          !bounds.end_pk || at <= std::pair(ordinal(*bounds.end_pk), bounds.end_rk ? ordinal(*bounds.end_rk) : 99);
      if (after && before) expected.push_back(row.partition_key + "|" + row.row_key);
    }
    ASSERT_EQ(run_query(Filter(), 5, bounds), expected);
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

/// Every look at it is two seconds later.
class HurryingClock : public ManualClock {
 public:
  [[nodiscard]] Time now() const override { return start_ + std::chrono::seconds(2 * ++looks_); }

 private:
  Time start_{};
  mutable int looks_ = 0;
};

TEST_F(TableQueryTest, GivesUpAfterFiveSecondsWithAContinuation) {
  for (int i = 0; i < 2000; i += 100) {
    std::vector<Mutation> batch;
    for (int n = 0; n < 100; ++n) batch.push_back(change(MutationKind::kInsert, "row" + std::to_string(10000 + i + n)));
    ASSERT_TRUE(mutate(batch, std::nullopt, "z").has_value());
  }
  HurryingClock hurrying;
  TableService slow(*engine, hurrying, *random);
  Query query;
  query.table = "people";
  query.filter = *Filter::parse("n eq 77");
  auto result = run_task(slow.query("acct", query, [](const EntityView&) { return true; }));
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->count, 0U);
  ASSERT_TRUE(result->next);
}

}  // namespace
}  // namespace tidemark::table_store
