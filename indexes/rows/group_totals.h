// What a summary tells of a group, and how it changes with the group's pieces (list_piece.h). Whole numbers are added
// up exactly, whatever comes and goes; other numbers as Doubles, in the order in which they come. Pure.
//   Parts  String  JSON: [entities with a number, of which Doubles, sum of the whole numbers as text, sum of the Doubles]
#pragma once
#include "indexes/rows/list_piece.h"

namespace tidemark::indexes {

struct GroupTotals {
  std::int64_t count = 0;    // entities
  std::int64_t numbers = 0;  // that have a number
  std::int64_t reals = 0;    // which is a Double
  __int128 whole_sum = 0;
  double real_sum = 0;
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
/// Whether what left took the smallest or largest number with it, so that all of the group has to be looked at.
bool loses_an_extreme(const GroupTotals& group, const GroupTotals& before, const GroupTotals& after);

std::vector<table_store::Property> summary_properties(std::string_view group, const GroupTotals& totals);
/// kCorruption if it is no summary.
Result<GroupTotals> read_summary(const table_store::Entity& row);

}  // namespace tidemark::indexes
