#include <gtest/gtest.h>

#include "table_store/rest/batch_mime.h"

namespace tidemark::table_store {
namespace {

constexpr std::string_view kBatch = "batch_fc229cdb-e0be-48ba-8165-3a417fc9f9aa";

// Captured from the JavaScript client: an extra empty line before the first boundary and before each body.
constexpr std::string_view kJavaScript = R"(--batch_fc229cdb-e0be-48ba-8165-3a417fc9f9aa
content-type: multipart/mixed; boundary=changeset_0d781840-0c3d-4500-9b6d-76ab0132ed5d


--changeset_0d781840-0c3d-4500-9b6d-76ab0132ed5d
content-type: application/http
content-transfer-encoding: binary

POST http://127.0.0.1:22002/devstoreaccount1/People HTTP/1.1
Content-Type: application/json;odata=nometadata
Accept: application/json;odata=minimalmetadata
DataServiceVersion: 3.0
Prefer: return-no-content


{"PartitionKey":"b","RowKey":"1","x":1}
--changeset_0d781840-0c3d-4500-9b6d-76ab0132ed5d
content-type: application/http
content-transfer-encoding: binary

PATCH http://127.0.0.1:22002/devstoreaccount1/People(PartitionKey='b',RowKey='2') HTTP/1.1
Content-Type: application/json
DataServiceVersion: 3.0
Accept: application/json


{"PartitionKey":"b","RowKey":"2","x":2}
--changeset_0d781840-0c3d-4500-9b6d-76ab0132ed5d
content-type: application/http
content-transfer-encoding: binary

DELETE http://127.0.0.1:22002/devstoreaccount1/People(PartitionKey='b',RowKey='3') HTTP/1.1
Accept: application/json;odata=minimalmetadata
DataServiceVersion: 3.0
If-Match: *


--changeset_0d781840-0c3d-4500-9b6d-76ab0132ed5d--
--batch_fc229cdb-e0be-48ba-8165-3a417fc9f9aa--
)";

// The form of the Python client: Content-ID, Content-Length, one empty line; .NET's lacks both.
constexpr std::string_view kPython = R"(--batch_fc229cdb-e0be-48ba-8165-3a417fc9f9aa
Content-Type: multipart/mixed; boundary=changeset_e043a274-cadc-46ea-89c1-84f304b7a6ab

--changeset_e043a274-cadc-46ea-89c1-84f304b7a6ab
Content-Type: application/http
Content-Transfer-Encoding: binary
Content-ID: 0

POST http://127.0.0.1:22002/devstoreaccount1/PyPeople HTTP/1.1
x-ms-version: 2019-02-02
DataServiceVersion: 3.0
Prefer: return-no-content
Content-Type: application/json;odata=nometadata
Accept: application/json;odata=minimalmetadata
Content-Length: 120
x-ms-date: Sat, 21 Nov 2026 11:36:37 GMT
Date: Sat, 21 Nov 2026 11:36:37 GMT

{"PartitionKey": "b", "PartitionKey@odata.type": "Edm.String", "RowKey": "1", "RowKey@odata.type": "Edm.String", "x": 1}
--changeset_e043a274-cadc-46ea-89c1-84f304b7a6ab--

--batch_fc229cdb-e0be-48ba-8165-3a417fc9f9aa--
)";

std::string with_crlf(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '\n') out += '\r';
    out += c;
  }
  return out;
}

void expect_javascript(const Batch& batch) {
  ASSERT_EQ(batch.changes.size(), 3U);
  EXPECT_EQ(batch.changes[0].method, "POST");
  EXPECT_EQ(batch.changes[0].uri, "http://127.0.0.1:22002/devstoreaccount1/People");
  EXPECT_EQ(batch.changes[0].header("prefer"), "return-no-content");
  EXPECT_EQ(batch.changes[0].body, R"({"PartitionKey":"b","RowKey":"1","x":1})");
  EXPECT_EQ(batch.changes[1].method, "PATCH");
  EXPECT_EQ(batch.changes[1].body, R"({"PartitionKey":"b","RowKey":"2","x":2})");
  EXPECT_EQ(batch.changes[2].method, "DELETE");
  EXPECT_EQ(batch.changes[2].header("IF-MATCH"), "*");
  EXPECT_EQ(batch.changes[2].body, "");
}

TEST(BatchMime, ReadsTheJavaScriptForm) {
  auto text = with_crlf(kJavaScript);
  auto batch = parse_batch(text, kBatch);
  ASSERT_TRUE(batch);
  expect_javascript(*batch);
}

TEST(BatchMime, ReadsBareLineFeeds) {
  auto batch = parse_batch(kJavaScript, kBatch);
  ASSERT_TRUE(batch);
  expect_javascript(*batch);
}

TEST(BatchMime, ReadsThePythonForm) {
  auto text = with_crlf(kPython);
  auto batch = parse_batch(text, kBatch);
  ASSERT_TRUE(batch);
  ASSERT_EQ(batch->changes.size(), 1U);
  EXPECT_TRUE(batch->changes[0].body.ends_with("\"x\": 1}"));
  EXPECT_EQ(batch->changes[0].header("content-length"), "120");
}

TEST(BatchMime, ToleratesMissingTerminator) {
  auto text = with_crlf(kPython);
  text.resize(text.rfind("--changeset_"));
  auto batch = parse_batch(text, kBatch);
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->changes.size(), 1U);
}

TEST(BatchMime, ReadsALoneQuery) {
  auto batch = parse_batch(
      "--b\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n"
      "GET http://h/a/t()?$filter=x%20eq%201 HTTP/1.1\r\nAccept: application/json\r\n\r\n\r\n--b--\r\n",
      "b");
  ASSERT_TRUE(batch);
  ASSERT_TRUE(batch->query);
  EXPECT_EQ(batch->query->uri, "http://h/a/t()?$filter=x%20eq%201");
}

// The form of the C++ client: no line break between a body and the next boundary, and no closing boundary in the batch.
constexpr std::string_view kCpp = R"(--batch_1
Content-Type: multipart/mixed; boundary=changeset_1

--changeset_1
Content-Type: application/http
Content-Transfer-Encoding: binary

POST http://127.0.0.1:22002/devstoreaccount1/People HTTP/1.1
Content-Type: application/json
Accept: application/json;odata=minimalmetadata
Prefer: return-no-content
DataServiceVersion: 3.0;

{"PartitionKey":"P1","RowKey":"R1","Text":"--changeset_1"}--changeset_1
Content-Type: application/http
Content-Transfer-Encoding: binary

DELETE http://127.0.0.1:22002/devstoreaccount1/People(PartitionKey='P1',RowKey='R2') HTTP/1.1
Accept: application/json;odata=minimalmetadata
DataServiceVersion: 3.0;
If-Match: *
--changeset_1
Content-Type: application/http
Content-Transfer-Encoding: binary

MERGE http://127.0.0.1:22002/devstoreaccount1/People(PartitionKey='P1',RowKey='R3') HTTP/1.1
Content-Type: application/json
Accept: application/json;odata=minimalmetadata
DataServiceVersion: 3.0;

{"PartitionKey":"P1","RowKey":"R3"}

--changeset_1--
--batch_1
)";

void expect_cpp(std::string_view text) {
  const auto batch = parse_batch(text, "batch_1");
  ASSERT_TRUE(batch);
  ASSERT_EQ(batch->changes.size(), 3U);
  EXPECT_EQ(batch->later_change_sets, 0U);
  EXPECT_EQ(batch->changes[0].body, R"({"PartitionKey":"P1","RowKey":"R1","Text":"--changeset_1"})");
  EXPECT_EQ(batch->changes[1].method, "DELETE");
  EXPECT_EQ(batch->changes[1].header("if-match"), "*");
  EXPECT_EQ(batch->changes[1].body, "");
  EXPECT_EQ(batch->changes[2].method, "MERGE");
  EXPECT_TRUE(batch->changes[2].body.starts_with(R"({"PartitionKey":"P1","RowKey":"R3"})"));
}

TEST(BatchMime, ReadsTheCppForm) {
  expect_cpp(kCpp);
  expect_cpp(with_crlf(kCpp));
}

TEST(BatchMime, ABoundaryEndsItsLine) {
  const auto parts = [](std::string_view text) { return protocol::split_parts(text, "b", 10); };
  using Parts = std::vector<std::string_view>;
  EXPECT_EQ(parts("--b\none--b \t\r\ntwo--b-- \nthree--b\n"), (Parts{"one", "two"}));
  EXPECT_EQ(parts("--b\none --b two\n--bc\n--b-\n--b--c\n-b\n--b--"), (Parts{"one --b two\n--bc\n--b-\n--b--c\n-b\n"}));
  EXPECT_EQ(parts("--b\none----b"), (Parts{"one--"}));
  EXPECT_EQ(protocol::split_parts("---\none---\ntwo-----", "-", 10), (Parts{"one", "two"}));
}

TEST(BatchMime, CountsToOneHundred) {
  auto batch_of = [](int count) {
    std::string text = "--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n";
    for (int i = 0; i < count; ++i)
      text += "--c\r\nContent-Type: application/http\r\n\r\nDELETE /t HTTP/1.1\r\n\r\n\r\n";
    return text + "--c--\r\n--b--\r\n";
  };
  auto full = batch_of(100), over = batch_of(101);
  auto fits = parse_batch(full, "b");
  ASSERT_TRUE(fits);
  EXPECT_FALSE(fits->more_than_allowed);
  auto more = parse_batch(over, "b");
  ASSERT_TRUE(more);
  EXPECT_TRUE(more->more_than_allowed);
  EXPECT_EQ(more->changes.size(), kMaxBatchOperations);
}

TEST(BatchMime, RefusesWhatIsNotABatch) {
  for (const char* text : {"", "garbage", "--b--\r\n", "--b\r\nContent-Type: text/plain\r\n\r\nx\r\n--b--\r\n",
                           "--b\r\nContent-Type: application/http\r\n\r\nPOST /t HTTP/1.1\r\n\r\n{}\r\n--b--\r\n",
                           "--b\r\nContent-Type: application/http\r\n\r\nGET\r\n--b--\r\n",
                           "--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c--\r\n--b--\r\n"}) {
    EXPECT_TRUE(parse_batch(text, "b").failed_with(ErrorCode::kInvalidInput)) << text;
  }
}

TEST(BatchMime, FindsTheBoundary) {
  EXPECT_EQ(multipart_boundary("multipart/mixed; boundary=batch_1"), "batch_1");
  EXPECT_EQ(multipart_boundary("multipart/mixed; boundary=\"batch 1\""), "batch 1");
  EXPECT_EQ(multipart_boundary("Multipart/Mixed;Boundary=X; charset=utf-8"), "X");
  EXPECT_FALSE(multipart_boundary("application/json"));
  EXPECT_FALSE(multipart_boundary("multipart/mixed"));
  EXPECT_FALSE(multipart_boundary("multipart/mixed; boundary="));
}

}  // namespace
}  // namespace tidemark::table_store
