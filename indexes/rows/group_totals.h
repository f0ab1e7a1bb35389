// The figures of a group in a summary, and how they change with the group's pieces (list_piece.h). Whole numbers are
// added up exactly, in any order of changes; Doubles are added in the order in which they come, with more digits and a
// wider range than their own, so that a sum that is too large for a while comes back. Pure.
//   Parts  String  JSON: [entities with a number, those with a Double, sum of the whole numbers, sum of the Doubles],
//                  both sums as text; the sum of the Doubles may be inf, -inf or nan
#pragma once
#include "indexes/rows/list_piece.h"

namespace tidemark::indexes {

struct GroupTotals {
  std::int64_t count = 0;    // entities
  std::int64_t numbers = 0;  // entities that have a number
  std::int64_t reals = 0;    // entities whose number is a Double
  __int128 whole_sum = 0;
  long double real_sum = 0;
  Number min, max;

  void add(const GroupTotals& other);
  /// Leaves `min` and `max` as they were: the caller must know whether they still hold.
  void subtract(const GroupTotals& other);
  /// Returns a whole number if all numbers are whole and the sum fits, or else a Double.
  [[nodiscard]] Number sum() const;
};

/// Tells whether `a` is less than `b`; false if either is no number.
bool less(const Number& a, const Number& b);
GroupTotals totals_of(const std::vector<ListEntry>& entries);
/// Tells whether a changing piece of the group takes away the smallest or largest number, or a sum that hides those of
/// the other pieces, such as Infinity, so that the whole group must be read.
bool loses_track(const GroupTotals& group, const GroupTotals& before, const GroupTotals& after);

std::vector<table_store::Property> summary_properties(std::string_view group, const GroupTotals& totals);
/// kCorruption if the row is no summary.
Result<GroupTotals> read_summary(const table_store::Entity& row);

}  // namespace tidemark::indexes
