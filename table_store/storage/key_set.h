// Sets of entity keys as a filter describes them: disjoint intervals of PartitionKeys, each with disjoint intervals of
// RowKeys, both in order. Closed under union and intersection, in time linear in the operands; bounded: past
// kMaxIntervals intervals of RowKeys a PartitionKey gets one at most, past kMaxIntervals of PartitionKeys they are
// joined, and the set, now too large, says that it is not exact. Pure.
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
  /// Holds exactly one text.
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
  /// False: some keys in the set may belong to entities that do not match.
  bool exact = true;

  static KeySet everything(bool exact);
  static KeySet of_partitions(const Intervals& partitions);
  static KeySet of_rows(Intervals rows);
};

KeySet combine(const KeySet& a, const KeySet& b, SetOp op);
/// The union or intersection of all, pairwise in a balanced tree. Empty input: nothing, or everything.
KeySet combine_all(std::vector<KeySet> sets, SetOp op);

}  // namespace tidemark::table_store
