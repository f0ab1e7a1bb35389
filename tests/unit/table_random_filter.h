// Random filters, each as text and as a predicate built beside it: the rules of $filter said a second time. For
// table_property_test.cpp and table_query_test.cpp.
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
/// One of a few names and few values of every type, so that comparisons meet.
Property random_property(Random& random);
RandomFilter random_filter(Random& random, int depth);

}  // namespace tidemark::table_store::reference
