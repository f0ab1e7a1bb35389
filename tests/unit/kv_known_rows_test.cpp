#include "common/postgres/known_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace tidemark::kv {
namespace {

using Stored = std::map<std::string, std::string>;
using Walked = std::vector<std::pair<std::string, std::string>>;

Walked in_order(const Stored& stored, const KeyRange& range, Direction direction) {
  Walked rows;
  for (const auto& row : stored) {
    if (row.first >= range.lower && (range.upper.empty() || row.first < range.upper)) rows.emplace_back(row);
  }
  if (direction == Direction::kReverse) std::reverse(rows.begin(), rows.end());
  return rows;
}

/// Fetches the missing rows, as an engine does.
void fetch(const Stored& stored, const KnownRows::Missing& missing, KnownRows& known) {
  for (const auto& key : missing.keys) {
    const auto found = stored.find(key);
    known.learn(key, found == stored.end() ? std::nullopt : std::optional(found->second));
  }
  for (const auto& range : missing.ranges) {
    const auto all = in_order(stored, range.range, range.direction);
    KnownRows::Rows rows;
    for (const auto& [key, value] : all) {
      if (rows.size() < range.limit) rows.emplace_back(key, value);
    }
    known.learn(range, rows);
  }
}

/// Walks until nothing is missing; counts the fetches.
Walked walk(const Stored& stored, KnownRows& known, const KeyRange& range, Direction direction, std::size_t limit,
            int& fetches) {
  for (;;) {
    Walked rows;
    KnownRows::Missing missing;
    {
      const auto cursor = known.scan(range, direction, limit, missing);
      for (; cursor->valid(); cursor->next()) rows.emplace_back(cursor->key(), cursor->value());
      EXPECT_EQ(cursor->status().has_value(), missing.empty());
    }
    if (missing.empty()) return rows;
    ++fetches;
    fetch(stored, missing, known);
  }
}

TEST(KnownRows, NothingIsKnownAtFirst) {
  KnownRows known;
  EXPECT_EQ(known.find("a"), nullptr);
  known.learn("a", "1");
  known.learn("b", std::nullopt);
  ASSERT_NE(known.find("a"), nullptr);
  EXPECT_EQ(*known.find("a"), "1");
  ASSERT_NE(known.find("b"), nullptr);
  EXPECT_EQ(*known.find("b"), std::nullopt);
  EXPECT_EQ(known.find("c"), nullptr);
}

TEST(KnownRows, ARangeThatWasWalkedIsKnownToItsLastRow) {
  const Stored stored = {{"a", "1"}, {"c", "3"}, {"e", "5"}, {"g", "7"}};
  KnownRows known;
  int fetches = 0;
  KnownRows::Missing missing;
  EXPECT_FALSE(known.scan({"b", ""}, Direction::kForward, 2, missing)->valid());
  fetch(stored, missing, known);
  EXPECT_EQ(*known.find("d"), std::nullopt) << "between two rows that were read";
  EXPECT_EQ(known.find("f"), nullptr) << "behind the last that was read";
  EXPECT_EQ(walk(stored, known, {"b", "e"}, Direction::kReverse, 2, fetches), (Walked{{"c", "3"}}));
  EXPECT_EQ(fetches, 0);
}

TEST(KnownRows, WhatManyMissIsMissingOnce) {
  KnownRows::Missing all;
  for (const std::size_t limit : {16UL, 64UL, 16UL}) all.add({{"a", "b"}, {{{"c", "d"}, Direction::kForward, limit}}});
  all.add({{}, {{{"c", "d"}, Direction::kReverse, 1}}});
  EXPECT_EQ(all.keys, (std::vector<std::string>{"a", "b"}));
  ASSERT_EQ(all.ranges.size(), 2U);
  EXPECT_EQ(all.ranges.front().limit, 64U);
}

TEST(KnownRows, WhatIsWrittenAndErasedIsKnown) {
  KnownRows known;
  int fetches = 0;
  EXPECT_TRUE(walk({}, known, {"", ""}, Direction::kForward, 8, fetches).empty());
  known.learn("b", "2");
  known.learn("a", "1");
  known.learn("b", std::nullopt);
  EXPECT_EQ(walk({}, known, {"", ""}, Direction::kReverse, 8, fetches), (Walked{{"a", "1"}}));
  known.learn("c", "3");
  known.learn_erased({"a", "b"});
  EXPECT_EQ(walk({}, known, {"", ""}, Direction::kForward, 8, fetches), (Walked{{"c", "3"}}));
  EXPECT_EQ(fetches, 1);
  known.clear();
  EXPECT_EQ(known.bytes(), 0U);
  EXPECT_EQ(known.find("a"), nullptr);
}

TEST(KnownRows, WhatIsErasedFromARangeTakesNoMemory) {
  KnownRows known;
  known.learn("b", std::nullopt);  // before it is in a range
  int fetches = 0;
  EXPECT_TRUE(walk({}, known, {"a", "z"}, Direction::kForward, 8, fetches).empty());
  const auto empty = known.bytes();
  for (int i = 0; i < 1000; ++i) {
    known.learn("m" + std::to_string(i), "message");
    known.learn("m" + std::to_string(i), std::nullopt);
  }
  EXPECT_EQ(known.bytes(), empty);
  ASSERT_NE(known.find("m1"), nullptr);
  EXPECT_EQ(*known.find("m1"), std::nullopt);
}

TEST(KnownRows, WalksAreThoseOfWhatIsStored) {
  std::mt19937 random(7);
  const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
  const auto key = [&] {
    std::string text;
    for (auto n = below(4); n > 0; --n) text.push_back(std::string_view("\0\1ab\377", 5)[below(5)]);
    return text;
  };
  for (int round = 0; round < 300; ++round) {
    Stored stored;
    for (auto n = below(20); n > 0; --n) stored[key()] = std::to_string(below(100));
    KnownRows known;
    for (int step = 0; step < 30; ++step) {
      const KeyRange range{key(), key()};
      const auto direction = below(2) == 0 ? Direction::kForward : Direction::kReverse;
      if (below(4) == 0) {  // a transaction's write
        const auto at = key();
        const auto value = below(3) == 0 ? std::nullopt : std::optional(std::to_string(below(100)));
        value ? void(stored[at] = *value) : void(stored.erase(at));
        known.learn(at, value);
      } else if (below(12) == 0) {
        for (const auto& [at, value] : in_order(stored, range, direction)) stored.erase(at);
        known.learn_erased(range);
      }
      int fetches = 0;
      ASSERT_EQ(walk(stored, known, range, direction, 1 + below(6), fetches), in_order(stored, range, direction));
      walk(stored, known, range, direction, 1, fetches = 0);
      ASSERT_EQ(fetches, 0) << "it is known now";
    }
    known.clear();
    EXPECT_EQ(known.bytes(), 0U);
  }
}

}  // namespace
}  // namespace tidemark::kv
