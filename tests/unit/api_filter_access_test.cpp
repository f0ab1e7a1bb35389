// The description, for people, of the rows that a filter makes a query read.
#include <gtest/gtest.h>

#include "api/rest/filter_access.h"

namespace tidemark::api {
namespace {

std::string access(std::string_view text) {
  const auto filter = table_store::Filter::parse(text);
  return filter ? std::string(access_name(access_of(*filter))) : "invalid";
}

TEST(FilterAccess, FollowsFromTheKeysThatItFixes) {
  EXPECT_EQ(access("PartitionKey eq 'a' and RowKey eq 'b'"), "point");
  EXPECT_EQ(access("RowKey eq 'b' and (Amount gt 1 and PartitionKey eq 'a')"), "point");
  EXPECT_EQ(access("PartitionKey eq 'a' and RowKey ge 'b' and RowKey lt 'c'"), "rows");
  EXPECT_EQ(access("PartitionKey eq 'a' and Amount gt 1"), "partition");
  EXPECT_EQ(access("PartitionKey gt 'a'"), "partitions");
  EXPECT_EQ(access("RowKey eq 'b'"), "table");
  EXPECT_EQ(access("PartitionKey ne 'a'"), "table");
  EXPECT_EQ(access(""), "table");
}

TEST(FilterAccess, AnAlternativeReadsWhatItsWidestPartReads) {
  EXPECT_EQ(access("(PartitionKey eq 'a' and RowKey eq 'b') or (PartitionKey eq 'c' and RowKey eq 'd')"), "point");
  EXPECT_EQ(access("(PartitionKey eq 'a' and RowKey eq 'b') or PartitionKey eq 'c'"), "partition");
  EXPECT_EQ(access("(PartitionKey eq 'a' and RowKey eq 'b') or Amount gt 1"), "table");
  EXPECT_EQ(access("not (PartitionKey eq 'a')"), "table");
}

}  // namespace
}  // namespace tidemark::api
