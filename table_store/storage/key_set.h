// Sets of entity keys, as filters describe them: disjoint intervals of PartitionKeys, each with disjoint intervals of
// RowKeys, all in order. Unions and intersections take time linear in the operands. The size is bounded: beyond
// kMaxIntervals intervals of RowKeys, a PartitionKey gets at most one; beyond kMaxIntervals of PartitionKeys, these are
// joined. The set then contains too much and is not exact. Pure.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace tidemark::table_store {

/// [lower, upper) of encoded text (kv::append_utf16); an empty upper is unbounded.
struct Interval {
  std::string lower, upper;
  bool operator==(const Interval&) const = default;
  [[nodiscard]] bool is_everything() const { return lower.empty() && upper.empty(); }
  /// True if it contains exactly one text.
  [[nodiscard]] bool is_point() const;
};

using Intervals = std::vector<Interval>;  // in order, disjoint, not touching

enum class SetOp { kUnion, kIntersection };

struct Stripe {
  Interval partitions;
  Intervals rows;
};

struct KeySet {
  static constexpr std::size_t kMaxIntervals = 4096;

  std::vector<Stripe> stripes;  // in order, disjoint; none has empty rows
  /// If false, some keys in the set may belong to entities that do not match.
  bool exact = true;

  static KeySet everything(bool exact);
  static KeySet of_partitions(const Intervals& partitions);
  static KeySet of_rows(Intervals rows);
};

KeySet combine(const KeySet& a, const KeySet& b, SetOp op);
/// Returns the union or intersection of all, computed in a balanced tree. Without any, it is empty or everything.
KeySet combine_all(std::vector<KeySet> sets, SetOp op);

}  // namespace tidemark::table_store
