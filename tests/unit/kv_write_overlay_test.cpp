// Writes that are not in the database yet: the effect of undo(), and walks over layers that hide each other.
#include "common/kv/write_overlay.h"

#include <gtest/gtest.h>

#include "tests/support/memory_engine.h"
#include "tests/unit/kv_test_support.h"

namespace tidemark::kv {
namespace {

using testing::Entries;

Entries walk(const Engine& engine, std::array<const WriteOverlay*, 2> overlays, const KeyRange& range,
             Direction direction) {
  const auto snapshot = engine.snapshot();
  const auto cursor = overlaid(overlays, snapshot->scan(range, direction), range, direction);
  Entries out;
  for (; cursor->valid(); cursor->next()) out.emplace_back(cursor->key(), cursor->value());
  EXPECT_TRUE(cursor->status().has_value());
  return out;
}

TEST(WriteOverlay, UndoTakesBackTheLastTransactionAlone) {
  WriteOverlay overlay;
  overlay.begin();
  overlay.put("kept", "1");
  overlay.put("changed", "before");
  overlay.erase("erased");
  const auto rows = overlay.rows();
  const auto bytes = overlay.bytes();
  overlay.begin();
  overlay.put("changed", "once");
  overlay.erase("changed");
  overlay.put("changed", "twice, and longer");
  overlay.put("erased", "back");
  overlay.put("new", "2");
  overlay.erase("new");
  overlay.undo();
  EXPECT_EQ(overlay.rows(), rows);
  EXPECT_EQ(overlay.bytes(), bytes);
  overlay.undo();  // there is nothing left to take back
  EXPECT_EQ(overlay.rows(), rows);
}

TEST(WriteOverlay, CountsWhatItHolds) {
  WriteOverlay overlay;
  overlay.begin();
  overlay.put("key", "value");
  EXPECT_EQ(overlay.bytes(), 8U);
  overlay.put("key", "v");
  EXPECT_EQ(overlay.bytes(), 4U);
  overlay.erase("key");
  EXPECT_EQ(overlay.bytes(), 3U);
  overlay.clear();
  EXPECT_EQ(overlay.bytes(), 0U);
  EXPECT_EQ(overlay.find("key"), nullptr);
}

TEST(WriteOverlay, ANewerLayerHidesAnOlderOneInBothDirections) {
  const auto engine = make_memory_engine();
  for (const auto* key : {"a", "b", "c", "d", "f"}) ASSERT_TRUE(testing::put(*engine, key, "stored").has_value());
  WriteOverlay ahead, writes;
  ahead.put("b", "ahead");
  ahead.erase("c");
  ahead.put("d", "ahead");
  ahead.put("e", "ahead");
  writes.erase("a");
  writes.put("c", "newest");
  writes.erase("d");
  writes.put("g", "newest");
  const Entries all = {{"b", "ahead"}, {"c", "newest"}, {"e", "ahead"}, {"f", "stored"}, {"g", "newest"}};
  const Entries reversed(all.rbegin(), all.rend());
  EXPECT_EQ(walk(*engine, {&writes, &ahead}, {"", ""}, Direction::kForward), all);
  EXPECT_EQ(walk(*engine, {&writes, &ahead}, {"", ""}, Direction::kReverse), reversed);
  const Entries middle = {{"c", "newest"}, {"e", "ahead"}};
  EXPECT_EQ(walk(*engine, {&writes, &ahead}, {"c", "f"}, Direction::kForward), middle);
  EXPECT_EQ(walk(*engine, {&writes, nullptr}, {"c", "e"}, Direction::kReverse), Entries({{"c", "newest"}}));
  EXPECT_EQ(walk(*engine, {&writes, &ahead}, {"f", "c"}, Direction::kForward), Entries());
}

}  // namespace
}  // namespace tidemark::kv
