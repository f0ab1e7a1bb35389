// Places in the log of a followed table. Each shard of the store has a log of its own, with versions of its own
// (docs/scale.md), so a place consists of one for each shard. A store that is not divided has one log. Plain values.
#pragma once
#include <algorithm>
#include <compare>
#include <cstdint>
#include <vector>

#include "table_store/model/entity.h"

namespace tidemark::table_store {

/// Stands for all changes up to a version in each shard's log.
struct Position {
  std::vector<Version> shards;  // a missing version is 0: none of that log

  [[nodiscard]] Version of(std::size_t shard) const { return shard < shards.size() ? shards[shard] : 0; }
  /// Returns the version up to which all shards' changes are included.
  [[nodiscard]] Version everywhere() const { return shards.empty() ? 0 : *std::ranges::min_element(shards); }
  [[nodiscard]] Version newest() const { return shards.empty() ? 0 : *std::ranges::max_element(shards); }
  [[nodiscard]] bool none() const { return newest() == 0; }
};

namespace detail {
template <class Pick>
Position of_both(const Position& a, const Position& b, Pick pick) {
  Position out;
  for (std::size_t shard = 0; shard < std::max(a.shards.size(), b.shards.size()); ++shard) {
    out.shards.push_back(pick(a.of(shard), b.of(shard)));
  }
  return out;
}
}  // namespace detail

/// Returns, for each shard, the lower version.
inline Position earlier_of(const Position& a, const Position& b) {
  return detail::of_both(a, b, [](Version x, Version y) { return std::min(x, y); });
}
/// Returns, for each shard, the higher version.
inline Position later_of(const Position& a, const Position& b) {
  return detail::of_both(a, b, [](Version x, Version y) { return std::max(x, y); });
}
/// Raises each shard's version to at least this.
inline Position raised_to(Position position, Version least) {
  for (auto& version : position.shards) version = std::max(version, least);
  return position;
}

/// One position is later than another if it is so on each shard, or the same; otherwise neither is.
inline std::partial_ordering operator<=>(const Position& a, const Position& b) {
  bool less = false, greater = false;
  for (std::size_t shard = 0; shard < std::max(a.shards.size(), b.shards.size()); ++shard) {
    less = less || a.of(shard) < b.of(shard);
    greater = greater || a.of(shard) > b.of(shard);
  }
  if (less && greater) return std::partial_ordering::unordered;
  if (less) return std::partial_ordering::less;
  return greater ? std::partial_ordering::greater : std::partial_ordering::equivalent;
}
inline bool operator==(const Position& a, const Position& b) { return (a <=> b) == 0; }

/// The number of notes read within a transaction of one shard.
struct NotesRead {
  std::uint32_t shard = 0, notes = 0;
  bool operator==(const NotesRead&) const = default;
};

}  // namespace tidemark::table_store
