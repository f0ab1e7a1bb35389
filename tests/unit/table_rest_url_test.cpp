#include <gtest/gtest.h>

#include "table_store/odata/table_url.h"

namespace tidemark::table_store {
namespace {

TableUrl parsed(std::string_view raw) {
  auto url = parse_table_url(raw);
  EXPECT_TRUE(url) << raw;
  return url ? *url : TableUrl{};
}

TEST(TableUrl, TellsResourcesApart) {
  EXPECT_EQ(parsed("").kind, UrlKind::kAccount);
  EXPECT_EQ(parsed("Tables").kind, UrlKind::kTables);
  EXPECT_EQ(parsed("Tables()").kind, UrlKind::kTables);
  EXPECT_EQ(parsed("Tables('People')").kind, UrlKind::kTable);
  EXPECT_EQ(parsed("Tables('People')").table, "People");
  EXPECT_EQ(parsed("Tables(%27People%27)").table, "People");
  EXPECT_EQ(parsed("People").kind, UrlKind::kEntities);
  EXPECT_EQ(parsed("People()").kind, UrlKind::kEntities);
  EXPECT_EQ(parsed("$batch").kind, UrlKind::kBatch);
  EXPECT_EQ(parsed("%24batch").kind, UrlKind::kBatch);
}

void expect_keys(std::string_view raw, std::string_view pk, std::string_view rk) {
  auto url = parsed(raw);
  EXPECT_EQ(url.kind, UrlKind::kEntity) << raw;
  EXPECT_EQ(url.partition_key, pk) << raw;
  EXPECT_EQ(url.row_key, rk) << raw;
}

TEST(TableUrl, ReadsKeysAsEveryClientWritesThem) {
  expect_keys("t(PartitionKey='p',RowKey='r')", "p", "r");
  expect_keys("t(RowKey='r', PartitionKey='p')", "p", "r");
  expect_keys("Types1(PartitionKey='pk%20one',RowKey='it''s%20%26%201')", "pk one", "it's & 1");
  expect_keys("t(PartitionKey='p',RowKey='it%27%27s')", "p", "it's");
  expect_keys("t(PartitionKey='',RowKey='')", "", "");
  expect_keys("t(PartitionKey='a+b',RowKey='%C3%A9')", "a+b", "\xC3\xA9");
  expect_keys("t(PartitionKey='a'',RowKey=''b',RowKey='c')", "a',RowKey='b", "c");
}

TEST(TableUrl, RefusesBrokenPredicates) {
  for (const char* raw :
       {"t(PartitionKey='p')", "t(PartitionKey='p',PartitionKey='q')", "t(PartitionKey='p',RowKey='r'",
        "t(PartitionKey=p,RowKey=r)", "t(PartitionKey='a/b',RowKey='r')", "t(PartitionKey='%zz',RowKey='r')",
        "t(PartitionKey='p',RowKey='r')x", "Tables('a", "t(PartitionKey='%FF',RowKey='r')"}) {
    EXPECT_TRUE(parse_table_url(raw).failed_with(ErrorCode::kInvalidInput)) << raw;
  }
  EXPECT_TRUE(parse_table_url("my-table").failed_with(ErrorCode::kInvalidResourceName));
}

TEST(TableUrl, SplitsUrisOfBatchParts) {
  auto absolute = split_uri("http://127.0.0.1:22002/devstoreaccount1/People(PartitionKey='b',RowKey='2')?$format=x");
  EXPECT_EQ(absolute.path, "devstoreaccount1/People(PartitionKey='b',RowKey='2')");
  EXPECT_EQ(absolute.query, "$format=x");
  EXPECT_EQ(split_uri("/account/T(a)").path, "account/T(a)");
  EXPECT_EQ(split_uri("https://acct.table.core.windows.net/t").path, "t");
  EXPECT_EQ(split_uri("/t(PartitionKey='http://x',RowKey='1')").path, "t(PartitionKey='http://x',RowKey='1')");
}

TEST(TableUrl, WritesWhatItReads) {
  std::string out;
  append_entity_path(out, "Types1", "pk one", "it's & 1");
  EXPECT_EQ(out, "Types1(PartitionKey='pk%20one',RowKey='it''s%20%26%201')");
  for (std::string key : {"", "'", "''", "a b", "100%", "\xE6\x97\xA5", "a,b=(c)"}) {
    out.clear();
    append_entity_path(out, "t", key, key + "x");
    expect_keys(out, key, key + "x");
  }
}

}  // namespace
}  // namespace tidemark::table_store
