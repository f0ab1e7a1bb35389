#include "common/kv/recent_rows.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <random>
#include <thread>
#include <tuple>

#include "tests/unit/kv_test_support.h"

namespace tidemark::kv {
namespace {

using Value = RecentRows::Value;
using Moment = RecentRows::Moment;

constexpr std::size_t kPlenty = 1UL << 20;

std::string told(const std::optional<Value>& found) { return !found ? "?" : *found ? **found : "<none>"; }

TEST(RecentRowsTest, KnowARowFromTheMomentOnAtWhichItWasRead) {
  RecentRows rows(kPlenty);
  EXPECT_EQ(told(rows.find("a", 9)), "?");
  rows.remember("a", "1", 5);
  rows.remember("b", std::nullopt, 5);
  EXPECT_EQ(told(rows.find("a", 4)), "?");
  EXPECT_EQ(told(rows.find("a", 5)), "1");
  EXPECT_EQ(told(rows.find("b", 6)), "<none>");
}

TEST(RecentRowsTest, KnowWhatIsWrittenToARowThatWasRead) {
  RecentRows rows(kPlenty);
  rows.remember("a", "1", 5);
  rows.change("a", "2", 8);
  rows.change("b", "2", 8);
  EXPECT_EQ(told(rows.find("a", 7)), "?");
  EXPECT_EQ(told(rows.find("a", 8)), "2");
  EXPECT_EQ(told(rows.find("b", 8)), "?") << "nobody has read it";
  rows.change("a", std::nullopt, 9);
  EXPECT_EQ(told(rows.find("a", 9)), "?");
}

TEST(RecentRowsTest, DoNotTakeWhatWasReadBeforeAWrite) {
  RecentRows rows(kPlenty);
  rows.change("a", "2", 8);
  rows.remember("a", "1", 7);
  EXPECT_EQ(told(rows.find("a", 9)), "?");
  rows.remember("a", "2", 8);
  EXPECT_EQ(told(rows.find("a", 8)), "2");
  rows.erase({"a", "b"}, 10);
  EXPECT_EQ(told(rows.find("a", 12)), "?");
  rows.remember("a", "2", 9);
  EXPECT_EQ(told(rows.find("a", 12)), "?");
}

TEST(RecentRowsTest, TakeUpNoMoreMemoryThanTheyMay) {
  RecentRows rows(kPlenty);
  for (int i = 0; i < 10'000; ++i) {
    rows.remember("row" + std::to_string(i), std::string(1000, 'x'), 1);
    std::ignore = rows.find("row0", 1);
  }
  EXPECT_LE(rows.figures().bytes, kPlenty * 5 / 4);
  EXPECT_GE(rows.figures().bytes, kPlenty / 4);
  EXPECT_NE(told(rows.find("row0", 1)), "?") << "it was needed again and again";
  EXPECT_EQ(told(rows.find("row1", 1)), "?");
  rows.remember("large", std::string(100'000, 'x'), 1);
  EXPECT_EQ(told(rows.find("large", 1)), "?");
}

/// The contents of a database, by commits.
class History {
 public:
  void write(const std::string& key, std::optional<std::string> text, Moment at) { rows_[key][at] = std::move(text); }
  void erase(const KeyRange& range, Moment at) {
    for (auto& [key, versions] : rows_) {
      if (key >= range.lower && (range.upper.empty() || key < range.upper)) versions[at] = std::nullopt;
    }
  }
  [[nodiscard]] std::optional<std::string> at(const std::string& key, Moment moment) const {
    const auto row = rows_.find(key);
    if (row == rows_.end()) return std::nullopt;
    auto version = row->second.upper_bound(moment);
    if (version == row->second.begin()) return std::nullopt;
    --version;
    return version->second;
  }

 private:
  std::map<std::string, std::map<Moment, std::optional<std::string>>> rows_;
};

TEST(RecentRowsTest, SayNothingButWhatTheDatabaseSaysAtThatMoment) {
  std::mt19937 random(7);
  const auto any = [&](std::size_t below) { return std::uniform_int_distribution<std::size_t>(0, below - 1)(random); };
  const auto any_key = [&] { return std::string(1, static_cast<char>('a' + any(3))) + std::to_string(any(40)); };
  RecentRows rows(64UL << 10);  // two KiB in each part
  History history;
  Moment now = 1;
  std::vector<Moment> snapshots{now};
  std::size_t found = 0;
  for (int step = 0; step < 200'000; ++step) {
    if (any(10) == 0) {
      const auto from = now + 1;
      if (any(20) == 0) {
        const KeyRange range{any_key(), any(2) == 0 ? any_key() : ""};
        rows.erase(range, from);
        history.erase(range, from);
      }
      for (auto left = any(4) + 1; left > 0; --left) {
        const auto key = any_key();
        const auto text = any(4) == 0 ? std::nullopt : std::optional(std::to_string(step) + std::string(any(900), 'x'));
        rows.change(key, text, from);
        history.write(key, text, from);
      }
      now += 1 + any(5);  // as many moments as there are writes; no snapshot sees those in between
    }
    if (snapshots.size() < 8) snapshots.push_back(now);
    const auto which = any(snapshots.size());
    const auto key = any_key();
    const auto truth = history.at(key, snapshots[which]);
    if (const auto known = rows.find(key, snapshots[which])) {
      ++found;
      ASSERT_EQ(told(known), truth.value_or("<none>")) << key << " in step " << step;
    } else {
      rows.remember(key, truth, snapshots[which]);
    }
    if (any(3) == 0) snapshots[which] = now;
  }
  EXPECT_GT(found, 20'000U);
}

/// A point read uses the rows in memory, a walk does not.
TEST(RecentRowsTest, ASnapshotIsTheSameByPointReadsAndByWalks) {
  const testing::TempDir directory;
  auto options = testing::small_options(directory.path());
  options.recent_rows_bytes = 256UL << 10;
  options.durability = Durability::kOs;
  const auto engine = std::move(*open_rocksdb(options));
  constexpr int kKeys = 100;
  const auto key_of = [](int number) { return "key" + std::to_string(1000 + number); };
  std::atomic<bool> ended = false;
  const auto read = [&](unsigned seed) {
    std::mt19937 random(seed);
    std::vector<std::string> keys;
    for (int i = 0; i < kKeys; ++i) keys.push_back(key_of(i));
    for (int round = 0; !ended || round < 100; ++round) {
      const auto snapshot = engine->snapshot();
      std::map<std::string, std::string> walked, together, alone;
      const auto read_alone = [&] {
        for (const auto& key : keys) {
          if (const auto text = snapshot->get(key).value()) alone[key] = *text;
        }
      };
      if (random() % 2 == 0) read_alone();
      const auto tell = [&](std::size_t place, std::optional<std::string_view> text) -> Result<void> {
        if (text) together[keys[place]] = *text;
        return {};
      };
      ASSERT_TRUE(snapshot->get_all(keys, tell).has_value());
      for (auto& [key, text] : testing::entries(*snapshot)) walked[key] = text;
      if (alone.empty()) read_alone();
      ASSERT_EQ(together, walked);
      ASSERT_EQ(alone, walked);
    }
  };
  std::vector<std::thread> readers;
  for (unsigned seed = 0; seed < 3; ++seed) readers.emplace_back(read, seed);
  std::mt19937 random(11);
  for (int round = 0; round < 3000; ++round) {
    const auto first = static_cast<int>(random() % kKeys);
    const auto done = testing::run(*engine, [&, number = random()](Transaction& txn) -> Result<void> {
      // It sees its own writes, and increments all others.
      for (int i = first; i < std::min(first + 10, kKeys); ++i) {
        const auto text = TRY(txn.get(key_of(i)));
        if (number % 5 == 0)
          txn.erase(key_of(i));
        else
          txn.put(key_of(i), std::to_string(text ? std::stoi(*text) + 1 : 0) + std::string(number % 300, ' '));
      }
      return {};
    });
    ASSERT_TRUE(done.has_value());
    if (round % 50 == 0) ASSERT_TRUE(testing::erase_range(*engine, {key_of(first), key_of(first + 5)}).has_value());
  }
  ended = true;
  for (auto& reader : readers) reader.join();
}

}  // namespace
}  // namespace tidemark::kv
