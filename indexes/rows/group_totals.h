// What a summary tells of a group, and how it changes with the group's pieces (list_piece.h). Whole numbers are added
// up exactly, whatever comes and goes; Doubles in the order in which they come, in more digits and a wider range than
// theirs, so that a sum that is too large for a while comes back. Pure.
//   Parts  String  JSON: [entities with a number, of which Doubles, sum of the whole numbers, sum of the Doubles], both
//                  sums as text; that of the Doubles may be inf, -inf or nan
#pragma once
#include "indexes/rows/list_piece.h"

namespace tidemark::indexes {

struct GroupTotals {
  std::int64_t count = 0;    // entities
  std::int64_t numbers = 0;  // that have a number
  std::int64_t reals = 0;    // which is a Double
  __int128 whole_sum = 0;
  long double real_sum = 0;
  Number min, max;

  void add(const GroupTotals& other);
  /// `min` and `max` stay as they were: whoever takes away must know whether they still hold.
  void subtract(const GroupTotals& other);
  /// A whole number if all are and it fits.
  [[nodiscard]] Number sum() const;
};

/// False if either is no number.
bool less(const Number& a, const Number& b);
GroupTotals totals_of(const std::vector<ListEntry>& entries);
/// Whether a piece of the group that changes takes the smallest or largest number with it, or a sum that hides those of
/// the others, such as Infinity, so that all of the group has to be looked at.
bool loses_track(const GroupTotals& group, const GroupTotals& before, const GroupTotals& after);

std::vector<table_store::Property> summary_properties(std::string_view group, const GroupTotals& totals);
/// kCorruption if it is no summary.
Result<GroupTotals> read_summary(const table_store::Entity& row);

}  // namespace tidemark::indexes
