// Random filters, each as text and as a predicate built beside it: an independent second implementation of the rules of
// $filter. For table_property_test.cpp and table_query_test.cpp.
#pragma once
#include <functional>
#include <string>

#include "common/base/random.h"
#include "table_reference.h"

namespace tidemark::table_store::reference {

struct RandomFilter {
  std::string text;
  std::function<bool(const Row&)> matches;
};

std::string random_partition(Random& random);
std::string random_row(Random& random);
/// Returns one of a few names with one of a few values of every type, so that comparisons match.
Property random_property(Random& random);
RandomFilter random_filter(Random& random, int depth);

}  // namespace tidemark::table_store::reference
