// Cutting, packing and comparing extents against a byte array: every page of the model names the payload and the place
// in it that the page comes from.
#include "blob_store/model/page_extents.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace tidemark::blob_store {
namespace {

constexpr std::uint64_t kSize = 64;

struct Source {
  PayloadId payload = 0;  // 0: a hole
  std::uint64_t place = 0;
  bool operator==(const Source&) const = default;
};
using Bytes = std::vector<Source>;

Bytes bytes_of(const std::vector<Extent>& extents) {
  Bytes bytes(kSize);
  std::uint64_t end = 0;
  for (const auto& extent : extents) {
    EXPECT_GE(extent.start, end) << "in order, without overlap";
    EXPECT_GT(extent.size, 0U);
    end = end_of(extent);
    for (std::uint64_t i = 0; i < extent.size; ++i) bytes[extent.start + i] = {extent.payload, extent.from + i};
  }
  return bytes;
}

class PageExtentsTest : public ::testing::Test {
 protected:
  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }
  ByteRange random_range() {
    const auto offset = below(kSize);
    return {offset, 1 + below(kSize - offset)};
  }
  /// Writes and clears as page blobs have them.
  void change(std::vector<Extent>& extents, Bytes& bytes) {
    const auto range = random_range();
    const bool clears = below(4) == 0;
    const auto from = below(10);
    const auto payload = clears ? 0 : ++last_payload_;
    std::vector<Extent> next;
    for (const auto& extent : extents) std::ranges::copy(outside(extent, range), std::back_inserter(next));
    if (!clears) next.push_back({range.offset, range.length, payload, from, {}});
    std::ranges::sort(next, {}, &Extent::start);
    extents = std::move(next);
    for (std::uint64_t i = 0; i < range.length; ++i) {
      bytes[range.offset + i] = clears ? Source{} : Source{payload, from + i};
    }
  }

  std::mt19937_64 random_{11};
  PayloadId last_payload_ = 0;
};

TEST_F(PageExtentsTest, WritesAndClearsAgreeWithABytesModel) {
  for (int history = 0; history < 500; ++history) {
    std::vector<Extent> extents;
    Bytes bytes(kSize);
    for (int i = 0; i < 20; ++i) {
      change(extents, bytes);
      ASSERT_EQ(bytes_of(extents), bytes);
    }
  }
}

TEST_F(PageExtentsTest, InsideIsTheRangeOfTheBytes) {
  for (int i = 0; i < 5000; ++i) {
    std::vector<Extent> extents;
    Bytes bytes(kSize);
    for (int writes = 0; writes < 6; ++writes) change(extents, bytes);
    const auto range = random_range();
    auto expected = Bytes(kSize);
    for (auto at = range.offset; at < end_of(range); ++at) expected[at] = bytes[at];
    ASSERT_EQ(bytes_of(inside(extents, range)), expected);
  }
}

TEST_F(PageExtentsTest, PackedHasTheSamePlacesAndAsManyExtentsAsRuns) {
  for (int i = 0; i < 5000; ++i) {
    std::vector<Extent> extents;
    Bytes bytes(kSize);
    for (int writes = 0; writes < 6; ++writes) change(extents, bytes);
    constexpr PayloadId kPacked = 1'000'000;
    const auto runs = packed(extents, kPacked);
    Bytes expected(kSize);
    std::uint64_t place = 0;
    std::size_t expected_runs = 0;
    for (std::uint64_t at = 0; at < kSize; ++at) {
      if (bytes[at].payload == 0) continue;
      expected_runs += at == 0 || bytes[at - 1].payload == 0 ? 1 : 0;
      expected[at] = {kPacked, place++};
    }
    ASSERT_EQ(bytes_of(runs), expected);
    ASSERT_EQ(runs.size(), expected_runs);
  }
}

TEST_F(PageExtentsTest, OnlyWhatBecomesMuchSmallerIsPacked) {
  std::vector<Extent> touching, apart;
  for (std::uint64_t i = 0; i <= kMaxCellFragments; ++i) {
    touching.push_back({i * kPageBytes, kPageBytes, i + 1, 0, {}});
    apart.push_back({2 * i * kPageBytes, kPageBytes, i + 1, 0, {}});
  }
  EXPECT_TRUE(worth_packing(touching));
  EXPECT_FALSE(worth_packing(apart)) << "it would have as many again after every write";
  touching.pop_back();
  EXPECT_FALSE(worth_packing(touching));
}

TEST_F(PageExtentsTest, ChangesAreWhatDiffersBetweenTheBytes) {
  for (int i = 0; i < 5000; ++i) {
    std::vector<Extent> old;
    Bytes old_bytes(kSize);
    for (int writes = 0; writes < 5; ++writes) change(old, old_bytes);
    auto now = old;
    auto now_bytes = old_bytes;
    for (auto writes = below(4); writes > 0; --writes) change(now, now_bytes);
    const auto window = random_range();
    std::vector<ChangedRange> expected;
    for (auto at = window.offset; at < end_of(window); ++at) {
      if (now_bytes[at] != old_bytes[at]) add_range(expected, {at, 1, now_bytes[at].payload == 0});
    }
    ASSERT_EQ(changes_between(old, now, window), expected);
  }
}

TEST_F(PageExtentsTest, WhatWasWrittenIsWhatChangedSinceNothing) {
  const std::vector<Extent> extents{{0, 512, 2, 0, {}}, {512, 512, 4, 0, {}}, {2048, 512, 6, 0, {}}};
  const std::vector<ChangedRange> written{{0, 1024, false}, {2048, 512, false}};
  EXPECT_EQ(changes_between({}, extents, {0, 8192}), written);
  EXPECT_EQ(changes_between(extents, extents, {0, 8192}), std::vector<ChangedRange>());
}

}  // namespace
}  // namespace tidemark::blob_store
