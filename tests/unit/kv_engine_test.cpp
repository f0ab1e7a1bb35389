// The promises of every engine, tested against each of them. Bodies pass failures on and report their reads afterwards,
// since an engine may run them again.
#include <gtest/gtest.h>

#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <random>

#include "common/postgres/postgres_engine.h"
#include "tests/support/memory_engine.h"
#include "tests/support/temporary_postgres.h"
#include "tests/unit/kv_test_support.h"

namespace tidemark::kv {
namespace {

using testing::Entries;
using testing::entries;
using testing::erase_range;
using testing::put;
using testing::run;
using testing::try_entries;
using testing::try_value_of;
using testing::value_of;

struct Kind {
  const char* name;
  Result<std::unique_ptr<Engine>> (*open)(const std::filesystem::path&);
  bool (*is_there)();
};

Result<std::unique_ptr<Engine>> open_memory(const std::filesystem::path&) { return make_memory_engine(); }
Result<std::unique_ptr<Engine>> open_rocks(const std::filesystem::path& path) {
  return open_rocksdb(testing::small_options(path / "db"));
}

/// Opens an engine in the database of this process.
Result<std::unique_ptr<Engine>> open_in_postgres(const std::filesystem::path&) {
  auto* const server = tidemark::testing::TemporaryPostgres::shared();
  PostgresOptions options;
  options.url = server->url();
  options.schema = server->new_schema();
  options.owner = "test";
  return open_postgres(options);
}
bool postgres_is_there() { return tidemark::testing::TemporaryPostgres::shared() != nullptr; }
bool always() { return true; }

class EngineTest : public ::testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    if (!GetParam().is_there()) GTEST_SKIP() << tidemark::testing::TemporaryPostgres::kAbsent;
    auto opened = GetParam().open(dir_.path());
    ASSERT_TRUE(opened.has_value()) << opened.error().message;
    engine_ = std::move(*opened);
  }
  Result<void> put_all(const Entries& all) {
    return run(*engine_, [&all](Transaction& txn) -> Result<void> {
      for (const auto& [key, value] : all) txn.put(key, value);
      return {};
    });
  }
  testing::TempDir dir_;
  std::unique_ptr<Engine> engine_;
};

INSTANTIATE_TEST_SUITE_P(Engines, EngineTest,
                         ::testing::Values(Kind{"memory", open_memory, always}, Kind{"rocksdb", open_rocks, always},
                                           Kind{"postgres", open_in_postgres, postgres_is_there}),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST_P(EngineTest, CommitsAllWritesOfABodyTogether) {
  ASSERT_TRUE(put_all({{"a", "1"}, {"b", "2"}, {std::string("\0x", 2), ""}}).has_value());
  const Entries expected = {{std::string("\0x", 2), ""}, {"a", "1"}, {"b", "2"}};
  EXPECT_EQ(entries(*engine_->snapshot()), expected);
}

TEST_P(EngineTest, AnAbandonedBodyLeavesNothing) {
  ASSERT_TRUE(put(*engine_, "a", "old").has_value());
  auto outcome = run(*engine_, [](Transaction& txn) -> Result<void> {
    txn.put("a", "new");
    txn.put("b", "new");
    txn.erase("a");
    return fail(ErrorCode::kConditionNotMet, "no");
  });
  ASSERT_TRUE(outcome.failed_with(ErrorCode::kConditionNotMet));
  EXPECT_EQ(outcome.error().message, "no");
  EXPECT_EQ(entries(*engine_->snapshot()), (Entries{{"a", "old"}}));
}

TEST_P(EngineTest, AThrowingBodyLeavesNothingAndFails) {
  auto outcome = run(*engine_, [](Transaction& txn) -> Result<void> {
    txn.put("a", "1");
    throw std::runtime_error("bug");
  });
  EXPECT_TRUE(outcome.failed_with(ErrorCode::kInternalError));
  EXPECT_TRUE(entries(*engine_->snapshot()).empty());
}

TEST_P(EngineTest, ABodyReadsItsOwnWrites) {
  ASSERT_TRUE(put_all({{"a", "1"}, {"b", "2"}, {"d", "4"}, {"z", "26"}}).has_value());
  Entries forward, reverse, bounded;
  std::string seen;
  auto outcome = run(*engine_, [&](Transaction& txn) -> Result<void> {
    seen.clear();
    txn.put("c", "3");
    txn.put("b", "two");
    txn.erase("d");
    txn.put("y", "gone");
    txn.erase("y");
    for (const auto* key : {"b", "d", "y", "a"}) seen += TRY(try_value_of(txn, key)) + " ";
    forward = TRY(try_entries(txn, {"a", "z"}));
    reverse = TRY(try_entries(txn, {"b", ""}, Direction::kReverse));
    bounded = TRY(try_entries(txn, {"bb", "c"}));
    return {};
  });
  ASSERT_TRUE(outcome.has_value());
  EXPECT_EQ(seen, "two <none> <none> 1 ");
  EXPECT_EQ(forward, (Entries{{"a", "1"}, {"b", "two"}, {"c", "3"}}));
  EXPECT_EQ(reverse, (Entries{{"z", "26"}, {"c", "3"}, {"b", "two"}}));
  EXPECT_TRUE(bounded.empty());
  EXPECT_EQ(entries(*engine_->snapshot()), (Entries{{"a", "1"}, {"b", "two"}, {"c", "3"}, {"z", "26"}}));
}

/// Returns "place value" for each found entry.
std::vector<std::string> all_of(const Reader& reader, const std::vector<std::string>& keys) {
  std::vector<std::string> out;
  const auto read = reader.get_all(keys, [&](std::size_t place, std::optional<std::string_view> value) -> Result<void> {
    out.push_back(std::to_string(place) + " " + std::string(value.value_or("<none>").substr(0, 8)));
    return {};
  });
  EXPECT_TRUE(read.has_value()) << read.error().message;
  return out;
}

TEST_P(EngineTest, ReadsSeveralRowsAtOnce) {
  ASSERT_TRUE(put_all({{"a", "1"}, {"b", ""}, {std::string("\0x", 2), "zero"}}).has_value());
  const auto before = engine_->snapshot();
  ASSERT_TRUE(put_all({{"b", "2"}, {"c", "3"}}).has_value());
  using Rows = std::vector<std::string>;
  const Rows keys = {"c", "a", "nobody", "b", "a", std::string("\0x", 2)};
  EXPECT_EQ(all_of(*before, keys), (Rows{"0 <none>", "1 1", "2 <none>", "3 ", "4 1", "5 zero"}));
  EXPECT_EQ(all_of(*engine_->snapshot(), keys), (Rows{"0 3", "1 1", "2 <none>", "3 2", "4 1", "5 zero"}));
  EXPECT_TRUE(all_of(*before, {}).empty());
  Rows within;
  ASSERT_TRUE(run(*engine_, [&](Transaction& txn) -> Result<void> {
                within.clear();
                txn.put("a", "own");
                txn.erase("b");
                return txn.get_all(keys, [&](std::size_t, std::optional<std::string_view> value) -> Result<void> {
                  within.emplace_back(value.value_or("<none>"));
                  return {};
                });
              }).has_value());
  EXPECT_EQ(within, (Rows{"3", "own", "<none>", "<none>", "own", "zero"}));
}

TEST_P(EngineTest, ReadsMoreRowsAtOnceThanFitIntoOneReading) {
  Entries rows;
  std::vector<std::string> keys, expected;
  for (int i = 0; i < 700; ++i) {  // more than the memory of an engine with files holds
    const auto number = std::to_string(1000 + i);
    rows.emplace_back("k" + number, "v" + number + std::string(1024, 'x'));
  }
  ASSERT_TRUE(put_all(rows).has_value());
  std::shuffle(rows.begin(), rows.end(), std::mt19937(7));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    keys.push_back(i % 5 == 0 ? "nobody" : rows[i].first);
    expected.push_back(std::to_string(i) + " " + (i % 5 == 0 ? "<none>" : rows[i].second.substr(0, 8)));
  }
  EXPECT_EQ(all_of(*engine_->snapshot(), keys), expected);
}

TEST_P(EngineTest, ReadingSeveralRowsEndsWhenItIsToldSo) {
  ASSERT_TRUE(put_all({{"a", "1"}, {"b", "2"}, {"c", "3"}}).has_value());
  std::vector<std::size_t> told;
  const std::vector<std::string> keys = {"a", "b", "c"};
  const auto read = engine_->snapshot()->get_all(keys, [&](std::size_t place, auto) -> Result<void> {
    told.push_back(place);
    return place == 1 ? Result<void>(fail(ErrorCode::kServerBusy)) : Result<void>();
  });
  EXPECT_TRUE(read.failed_with(ErrorCode::kServerBusy));
  EXPECT_EQ(told, (std::vector<std::size_t>{0, 1}));
}

TEST_P(EngineTest, ScansHonourTheirBoundsInBothDirections) {
  ASSERT_TRUE(put_all({{"a", ""}, {"b", ""}, {"c", ""}, {"d", ""}}).has_value());
  auto keys = [&](KeyRange range, Direction direction) {
    std::string joined;
    for (const auto& [key, value] : entries(*engine_->snapshot(), range, direction)) joined += key;
    return joined;
  };
  EXPECT_EQ(keys({"b", "d"}, Direction::kForward), "bc");
  EXPECT_EQ(keys({"b", "d"}, Direction::kReverse), "cb");
  EXPECT_EQ(keys({"", ""}, Direction::kReverse), "dcba");
  EXPECT_EQ(keys({"bb", ""}, Direction::kForward), "cd");
  EXPECT_EQ(keys({"bb", "cc"}, Direction::kReverse), "c");
  EXPECT_EQ(keys({"e", ""}, Direction::kForward), "");
  EXPECT_EQ(keys({"c", "c"}, Direction::kForward), "");
  EXPECT_EQ(keys({"d", "b"}, Direction::kReverse), "");
}

TEST_P(EngineTest, ASnapshotStaysAsItWas) {
  ASSERT_TRUE(put_all({{"a", "1"}, {"b", "1"}}).has_value());
  auto before = engine_->snapshot();
  auto cursor = before->scan({});
  ASSERT_TRUE(put_all({{"a", "2"}, {"c", "2"}}).has_value());
  ASSERT_TRUE(run(*engine_, [](Transaction& txn) -> Result<void> {
                txn.erase("b");
                return {};
              }).has_value());
  EXPECT_EQ(entries(*before), (Entries{{"a", "1"}, {"b", "1"}}));
  EXPECT_EQ(value_of(*before, "c"), "<none>");
  EXPECT_EQ(entries(*engine_->snapshot()), (Entries{{"a", "2"}, {"c", "2"}}));
  before.reset();  // a cursor lives on without it
  cursor->next();
  ASSERT_TRUE(cursor->valid());
  EXPECT_EQ(cursor->key(), "b");
}

TEST_P(EngineTest, ASnapshotOutlivesTheEngine) {
  ASSERT_TRUE(put(*engine_, "a", "1").has_value());
  auto snapshot = engine_->snapshot();
  engine_.reset();
  EXPECT_EQ(value_of(*snapshot, "a"), "1");
}

TEST_P(EngineTest, ABodyMayBeRunAgain) {
  int seen = 0;
  TransactionBody body = [&seen](Transaction& txn) -> Result<void> {
    seen = 0;
    const auto cursor = txn.scan({"n", "o"});
    for (; cursor->valid(); cursor->next()) ++seen;
    TRY(cursor->status());
    txn.put("n" + std::to_string(seen), "");
    return {};
  };
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(run(*engine_, body).has_value());
  EXPECT_EQ(seen, 2);
  EXPECT_EQ(entries(*engine_->snapshot()).size(), 3U);
}

TEST_P(EngineTest, ErasesARange) {
  ASSERT_TRUE(put_all({{"a", ""}, {"b", ""}, {"c", ""}, {"d", ""}, {"\xFF\xFF", ""}}).has_value());
  ASSERT_TRUE(erase_range(*engine_, {"b", "d"}).has_value());
  EXPECT_EQ(entries(*engine_->snapshot()), (Entries{{"a", ""}, {"d", ""}, {"\xFF\xFF", ""}}));
  ASSERT_TRUE(put(*engine_, "b", "again").has_value());
  EXPECT_EQ(value_of(*engine_->snapshot(), "b"), "again");
  ASSERT_TRUE(erase_range(*engine_, {"z", "c"}).has_value());
  ASSERT_TRUE(erase_range(*engine_, {"b", ""}).has_value());
  EXPECT_EQ(entries(*engine_->snapshot()), (Entries{{"a", ""}}));
}

TEST_P(EngineTest, ConcurrentIncrementsLoseNothing) {
  constexpr int kThreads = 4, kEach = 100;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([this] {
        for (int i = 0; i < kEach; ++i) {
          auto outcome = run(*engine_, [](Transaction& txn) -> Result<void> {
            auto got = TRY(txn.get("n"));
            txn.put("n", std::to_string(std::stoi(got.value_or("0")) + 1));
            return {};
          });
          EXPECT_TRUE(outcome.has_value());
        }
      });
    }
  }
  EXPECT_EQ(value_of(*engine_->snapshot(), "n"), std::to_string(kThreads * kEach));
}

TEST_P(EngineTest, WriteSkewCannotHappen) {
  for (int round = 0; round < 50; ++round) {
    ASSERT_TRUE(put_all({{"x", "on"}, {"y", "on"}}).has_value());
    // Each may switch itself off only while the other is on.
    auto switch_off = [this](std::string mine, std::string other) {
      return run(*engine_, [mine, other](Transaction& txn) -> Result<void> {
        if (TRY(try_value_of(txn, other)) != "on") return fail(ErrorCode::kConditionNotMet);
        txn.put(mine, "off");
        return {};
      });
    };
    bool first = false;
    std::jthread thread([&] { first = switch_off("x", "y").has_value(); });
    const bool second = switch_off("y", "x").has_value();
    thread.join();
    EXPECT_NE(first, second);
  }
}

TEST_P(EngineTest, TransactResumesOnTheCallersExecutor) {
  asio::io_context context;
  auto thread_of_resume = std::thread::id();
  Result<void> outcome = fail(ErrorCode::kInternalError);
  auto flow = [](Engine& engine, std::thread::id& thread, Result<void>& out) -> Task<void> {
    out = co_await engine.transact([](Transaction& txn) -> Result<void> {
      txn.put("a", "1");
      return {};
    });
    thread = std::this_thread::get_id();
    auto refused = co_await engine.transact([](Transaction&) -> Result<void> { return fail(ErrorCode::kNotFound); });
    EXPECT_TRUE(refused.failed_with(ErrorCode::kNotFound));
  };
  asio::co_spawn(context, flow(*engine_, thread_of_resume, outcome), asio::detached);
  context.run();  // returns only once the flow has ended: the wait counts as work
  EXPECT_TRUE(outcome.has_value());
  EXPECT_EQ(thread_of_resume, std::this_thread::get_id());
  EXPECT_EQ(value_of(*engine_->snapshot(), "a"), "1");
}

// Random transactions, some abandoned, many in flight so that they share groups, against a std::map.
using Model = std::map<std::string, std::string>;

Entries model_range(const Model& model, const KeyRange& range, Direction direction) {
  Entries out;
  for (const auto& entry : model) {
    if (entry.first >= range.lower && (range.upper.empty() || entry.first < range.upper)) out.emplace_back(entry);
  }
  if (direction == Direction::kReverse) std::reverse(out.begin(), out.end());
  return out;
}

class RandomWork {
 public:
  explicit RandomWork(unsigned seed) : random_(seed) {}
  unsigned below(unsigned n) { return static_cast<unsigned>(random_() % n); }
  std::string key() {
    std::string key;
    for (auto n = below(4); n > 0; --n)
      key.push_back(
          "\x00\x01"
          "ab\xFF"[below(5)]);
    return key;
  }
  KeyRange range() { return {key(), key()}; }
  Direction direction() { return below(2) == 0 ? Direction::kForward : Direction::kReverse; }

  struct Step {
    enum class Kind { kPut, kErase, kScan } kind = Kind::kPut;
    std::string key, value, probe;
    KeyRange range;
    Direction direction = Direction::kForward;
  };
  struct Plan {
    std::vector<Step> steps;
    bool abandoned = false;
  };
  Plan plan() {
    Plan plan;
    for (auto n = below(8); n > 0; --n) {
      Step step;
      step.key = key();
      step.probe = key();
      step.range = range();
      step.direction = direction();
      const auto kind = below(4);
      step.kind = kind == 0 ? Step::Kind::kErase : kind == 1 ? Step::Kind::kScan : Step::Kind::kPut;
      step.value = std::string(below(40), static_cast<char>('a' + below(26)));
      plan.steps.push_back(std::move(step));
    }
    plan.abandoned = below(3) == 0;
    return plan;
  }

 private:
  std::mt19937 random_;
};

/// The reads of a transaction, step by step.
struct Seen {
  std::vector<Entries> scans;
  std::vector<std::string> probes;
  bool operator==(const Seen&) const = default;
};

Result<void> carry_out(const RandomWork::Plan& plan, Transaction& txn, Seen& seen) {
  seen = {};
  for (const auto& step : plan.steps) {
    if (step.kind == RandomWork::Step::Kind::kErase) txn.erase(step.key);
    if (step.kind == RandomWork::Step::Kind::kPut) txn.put(step.key, step.value);
    if (step.kind == RandomWork::Step::Kind::kScan) {
      seen.scans.push_back(TRY(try_entries(txn, step.range, step.direction)));
    }
    seen.probes.push_back(TRY(try_value_of(txn, step.probe)));
  }
  if (plan.abandoned) return fail(ErrorCode::kConditionNotMet);
  return {};
}

Seen carry_out(const RandomWork::Plan& plan, Model& model) {
  Seen seen;
  auto mine = model;
  for (const auto& step : plan.steps) {
    if (step.kind == RandomWork::Step::Kind::kErase) mine.erase(step.key);
    if (step.kind == RandomWork::Step::Kind::kPut) mine[step.key] = step.value;
    if (step.kind == RandomWork::Step::Kind::kScan) {
      seen.scans.push_back(model_range(mine, step.range, step.direction));
    }
    const auto found = mine.find(step.probe);
    seen.probes.push_back(found == mine.end() ? "<none>" : found->second);
  }
  if (!plan.abandoned) model = std::move(mine);
  return seen;
}

TEST_P(EngineTest, BehavesLikeAnOrderedMap) {
  constexpr int kTransactions = 40;
  RandomWork work(20240);
  Model model;
  for (int round = 0; round < 40; ++round) {
    std::vector<RandomWork::Plan> plans;
    std::vector<Seen> seen(kTransactions);
    std::vector<std::future<Result<void>>> outcomes;
    for (int i = 0; i < kTransactions; ++i) plans.push_back(work.plan());
    for (std::size_t i = 0; i < plans.size(); ++i) {
      outcomes.push_back(testing::start(
          *engine_, [plan = &plans[i], read = &seen[i]](Transaction& txn) { return carry_out(*plan, txn, *read); }));
    }
    for (std::size_t i = 0; i < plans.size(); ++i) {
      const auto result = outcomes[i].get();
      ASSERT_TRUE(result.has_value() != plans[i].abandoned);
      ASSERT_TRUE(result.has_value() || result.failed_with(ErrorCode::kConditionNotMet));
      ASSERT_EQ(seen[i], carry_out(plans[i], model)) << "round " << round << ", transaction " << i;
    }
    auto within = work.range();
    auto snapshot = engine_->snapshot();
    ASSERT_EQ(entries(*snapshot), model_range(model, {}, Direction::kForward)) << "round " << round;
    ASSERT_EQ(entries(*snapshot, within, Direction::kReverse), model_range(model, within, Direction::kReverse));
    if (round % 10 == 9) {
      ASSERT_TRUE(erase_range(*engine_, within).has_value());
      for (const auto& [key, value] : model_range(model, within, Direction::kForward)) model.erase(key);
    }
  }
}

TEST(MemoryEngine, AnEngineOpenedOverTheSameDiskFindsWhatWasCommitted) {
  auto disk = make_memory_disk();
  auto engine = make_memory_engine(disk);
  ASSERT_TRUE(put(*engine, "a", "1").has_value());
  engine = make_memory_engine(disk);
  EXPECT_EQ(value_of(*engine->snapshot(), "a"), "1");
}

}  // namespace
}  // namespace tidemark::kv
