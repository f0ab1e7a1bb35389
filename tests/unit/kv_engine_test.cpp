// What every engine promises, run against each of them.
#include <gtest/gtest.h>

#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <random>

#include "tests/support/memory_engine.h"
#include "tests/unit/kv_test_support.h"

namespace tidemark::kv {
namespace {

using testing::Entries;
using testing::entries;
using testing::erase_range;
using testing::put;
using testing::run;
using testing::value_of;

struct Kind {
  const char* name;
  Result<std::unique_ptr<Engine>> (*open)(const std::filesystem::path&);
};

Result<std::unique_ptr<Engine>> open_memory(const std::filesystem::path&) { return make_memory_engine(); }
Result<std::unique_ptr<Engine>> open_rocks(const std::filesystem::path& path) {
  return open_rocksdb(testing::small_options(path / "db"));
}

class EngineTest : public ::testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
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
                         ::testing::Values(Kind{"memory", open_memory}, Kind{"rocksdb", open_rocks}),
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
  auto outcome = run(*engine_, [&](Transaction& txn) -> Result<void> {
    txn.put("c", "3");
    txn.put("b", "two");
    txn.erase("d");
    txn.put("y", "gone");
    txn.erase("y");
    EXPECT_EQ(value_of(txn, "b"), "two");
    EXPECT_EQ(value_of(txn, "d"), "<none>");
    EXPECT_EQ(value_of(txn, "y"), "<none>");
    EXPECT_EQ(value_of(txn, "a"), "1");
    forward = entries(txn, {"a", "z"});
    reverse = entries(txn, {"b", ""}, Direction::kReverse);
    bounded = entries(txn, {"bb", "c"});
    return {};
  });
  ASSERT_TRUE(outcome.has_value());
  EXPECT_EQ(forward, (Entries{{"a", "1"}, {"b", "two"}, {"c", "3"}}));
  EXPECT_EQ(reverse, (Entries{{"z", "26"}, {"c", "3"}, {"b", "two"}}));
  EXPECT_TRUE(bounded.empty());
  EXPECT_EQ(entries(*engine_->snapshot()), (Entries{{"a", "1"}, {"b", "two"}, {"c", "3"}, {"z", "26"}}));
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
    for (auto cursor = txn.scan({"n", "o"}); cursor->valid(); cursor->next()) ++seen;
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
        if (value_of(txn, other) != "on") return fail(ErrorCode::kConditionNotMet);
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

  Result<void> transaction(Transaction& txn, Model& model) {
    auto mine = model;
    for (auto n = below(8); n > 0; --n) {
      auto at = key();
      switch (below(4)) {
        case 0:
          txn.erase(at);
          mine.erase(at);
          break;
        case 1: {
          auto within = range();
          auto towards = direction();
          EXPECT_EQ(entries(txn, within, towards), model_range(mine, within, towards));
          break;
        }
        default:
          mine[at] = std::string(below(40), static_cast<char>('a' + below(26)));
          txn.put(at, mine[at]);
      }
      const auto probe = key();
      const auto found = mine.find(probe);
      EXPECT_EQ(value_of(txn, probe), found == mine.end() ? "<none>" : found->second);
    }
    if (below(3) == 0) return fail(ErrorCode::kConditionNotMet);
    model = std::move(mine);
    return {};
  }

 private:
  std::mt19937 random_;
};

TEST_P(EngineTest, BehavesLikeAnOrderedMap) {
  RandomWork work(20240);
  Model model;
  for (int round = 0; round < 40; ++round) {
    std::vector<std::future<Result<void>>> outcomes;
    for (int i = 0; i < 40; ++i) {
      outcomes.push_back(testing::start(
          *engine_, [&work, &model](Transaction& txn) -> Result<void> { return work.transaction(txn, model); }));
    }
    for (auto& outcome : outcomes) {
      auto result = outcome.get();
      ASSERT_TRUE(result.has_value() || result.failed_with(ErrorCode::kConditionNotMet));
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
