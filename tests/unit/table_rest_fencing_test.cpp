// The x-ms-tidemark-* headers: put-if-newer, fenced operations, and the headers of answers.
#include "table_rest_fixture.h"
#include "table_store/rest/fencing.h"
#include "table_store/storage/table_keys.h"

namespace tidemark::table_store {
namespace {

using testing::HasSubstr;

struct TableFencing : TableRestFixture {
  void SetUp() override {
    TableRestFixture::SetUp();
    make_table();
  }
  Reply put(const std::string& row, const std::string& json, const Headers& headers) {
    return call("PUT", one(row), json, headers);
  }
  static Headers from(const std::string& version) { return {{"x-ms-tidemark-source-version", version}}; }
  static Headers fence(const std::string& id, const std::string& epoch) {
    return {{"x-ms-tidemark-operation-id", id}, {"x-ms-tidemark-epoch", epoch}};
  }
};

TEST_F(TableFencing, AnOlderCopyLosesHarmlessly) {
  auto first = put("r", R"({"n":2})", from("200"));
  EXPECT_EQ(first.status, 204U);
  EXPECT_EQ(first.header("x-ms-tidemark-outcome"), "applied");
  EXPECT_EQ(first.header("x-ms-tidemark-source-version"), "200");
  auto older = put("r", R"({"n":1})", from("199"));
  EXPECT_EQ(older.status, 204U);
  EXPECT_EQ(older.header("x-ms-tidemark-outcome"), "superseded");
  EXPECT_EQ(older.header("x-ms-tidemark-source-version"), "200");
  EXPECT_EQ(older.header("ETag"), first.header("ETag"));
  EXPECT_EQ(put("r", R"({"n":9})", from("200")).header("x-ms-tidemark-outcome"), "unchanged");
  EXPECT_THAT(call("GET", one("r")).body, HasSubstr("\"n\":2"));
  EXPECT_EQ(put("r", R"({"n":3})", from("201")).header("x-ms-tidemark-outcome"), "applied");
  // A delete that names an older version leaves the newer one.
  auto kept = call("DELETE", one("r"), {}, {{"If-Match", "*"}, {"x-ms-tidemark-source-version", "200"}});
  EXPECT_EQ(kept.status, 204U);
  EXPECT_EQ(kept.header("x-ms-tidemark-outcome"), "superseded");
  EXPECT_EQ(call("GET", one("r")).status, 200U);
  auto gone = call("DELETE", one("r"), {}, {{"If-Match", "*"}, {"x-ms-tidemark-source-version", "201"}});
  EXPECT_EQ(gone.header("x-ms-tidemark-outcome"), "applied");
  EXPECT_EQ(call("GET", one("r")).status, 404U);
}

TEST_F(TableFencing, TheSourcesETagIsItsVersion) {
  auto source = put("source", R"({"n":1})", {});
  const auto tag = source.header("ETag");
  auto copy = put("copy", R"({"n":1})", from(tag));
  EXPECT_EQ(copy.header("x-ms-tidemark-outcome"), "applied");
  EXPECT_EQ(copy.header("x-ms-tidemark-source-version"), std::to_string(clock.now().time_since_epoch().count()));
  // Ordinary writes get no such header.
  EXPECT_EQ(source.header("x-ms-tidemark-outcome"), "");
}

TEST_F(TableFencing, AnOperationIsForgottenOnceItHasRestedForTheRetention) {
  auto forget_after = [this](Duration later) {
    clock.time += later;
    auto round = kv::drop_faded(*engine, fading_operations(), std::chrono::hours(10), clock.now());
    return run_task(std::move(round)).value();
  };
  ASSERT_EQ(call("POST", "$operation", {}, fence("busy", "5")).status, 200U);
  ASSERT_EQ(put("r", R"({"n":1})", fence("done", "5")).status, 204U);
  ASSERT_EQ(call("DELETE", "$operation", {}, fence("done", "5")).status, 200U);
  EXPECT_EQ(forget_after(std::chrono::hours(0)), 0U) << "seen for the first time";
  ASSERT_EQ(put("r", R"({"n":2})", fence("busy", "5")).status, 204U);
  EXPECT_EQ(forget_after(std::chrono::hours(9)), 0U);
  EXPECT_EQ(put("r", R"({"n":3})", fence("done", "5")).code(), "Fenced");
  EXPECT_EQ(forget_after(std::chrono::hours(1)), 1U) << "the one that changed since stays";
  EXPECT_EQ(put("r", R"({"n":4})", fence("busy", "4")).code(), "Fenced");
  EXPECT_EQ(call("GET", "$operation", {}, {{"x-ms-tidemark-operation-id", "done"}}).body,
            R"({"operationId":"done","epoch":"0","closed":false,"applied":"0"})");
  EXPECT_THAT(call("GET", one("r")).body, HasSubstr("\"n\":2")) << "entities do not fade";
}

TEST_F(TableFencing, StaleEpochsAndClosedOperationsAreRefused) {
  EXPECT_EQ(put("r", R"({"n":2})", fence("op", "2")).header("x-ms-tidemark-outcome"), "applied");
  auto stale = put("r", R"({"n":1})", fence("op", "1"));
  EXPECT_EQ(stale.status, 412U);
  EXPECT_EQ(stale.code(), "Fenced");
  EXPECT_EQ(put("r", R"({"n":3})", fence("op", "2")).status, 204U);
  auto closed = call("DELETE", "$operation", {}, fence("op", "2"));
  EXPECT_EQ(closed.status, 200U);
  EXPECT_EQ(closed.body, R"({"operationId":"op","epoch":"2","closed":true,"applied":"2"})");
  EXPECT_EQ(put("r", R"({"n":4})", fence("op", "3")).code(), "Fenced");
  EXPECT_THAT(call("GET", one("r")).body, HasSubstr("\"n\":3"));
  // The reply to a close may have been lost.
  EXPECT_EQ(call("DELETE", "$operation", {}, fence("op", "2")).status, 200U);
  EXPECT_EQ(put("r", R"({"n":5})", fence("another", "1")).status, 204U);
}

TEST_F(TableFencing, OpeningRaisesTheEpoch) {
  EXPECT_EQ(call("GET", "$operation", {}, {{"x-ms-tidemark-operation-id", "op"}}).body,
            R"({"operationId":"op","epoch":"0","closed":false,"applied":"0"})");
  EXPECT_EQ(call("POST", "$operation", {}, fence("op", "5")).body,
            R"({"operationId":"op","epoch":"5","closed":false,"applied":"0"})");
  EXPECT_EQ(put("r", "{}", fence("op", "4")).code(), "Fenced");
  EXPECT_EQ(call("POST", "$operation", {}, fence("op", "4")).code(), "Fenced");
  EXPECT_EQ(call("DELETE", "$operation", {}, fence("op", "4")).code(), "Fenced");
  // A client that opens a closed operation learns that the work is done.
  ASSERT_EQ(call("DELETE", "$operation", {}, fence("op", "5")).status, 200U);
  EXPECT_THAT(call("POST", "$operation", {}, fence("op", "6")).body, HasSubstr("\"closed\":true"));
}

TEST_F(TableFencing, OperationsOfUsersAreApartFromTidemarksOwn) {
  ASSERT_TRUE(run_task(service->open_operation(kAccount, "op", 1)).has_value());
  ASSERT_EQ(call("DELETE", "$operation", {}, fence("op", "9")).status, 200U);
  auto ledger = run_task(service->read_operation(kAccount, "op"));
  ASSERT_TRUE(ledger.has_value());
  EXPECT_FALSE(ledger->closed);
  EXPECT_EQ(ledger->epoch, 1U);
}

TEST_F(TableFencing, TransactionsHaveOneFenceAndASourceEach) {
  const auto part = [](const std::string& row, const std::string& headers) {
    return "--c\r\nContent-Type: application/http\r\n\r\nPUT http://h/devstoreaccount1/" + one(row) +
           " HTTP/1.1\r\nContent-Type: application/json\r\n" + headers + "\r\n{\"n\":1}\r\n";
  };
  const auto send_batch = [&](const std::string& parts, Headers headers) {
    headers.emplace_back("Content-Type", "multipart/mixed; boundary=b");
    return call("POST", "$batch",
                "--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n" + parts + "--c--\r\n--b--\r\n", headers);
  };
  ASSERT_EQ(put("old", "{}", from("500")).status, 204U);
  const auto parts =
      part("new", "x-ms-tidemark-source-version: 10\r\n") + part("old", "x-ms-tidemark-source-version: 10\r\n");
  auto done = send_batch(parts, fence("op", "1"));
  EXPECT_EQ(done.status, 202U);
  const auto applied = done.body.find("x-ms-tidemark-outcome: applied");
  const auto superseded = done.body.find("x-ms-tidemark-outcome: superseded");
  EXPECT_NE(applied, std::string::npos);
  EXPECT_NE(superseded, std::string::npos);
  EXPECT_LT(applied, superseded);
  EXPECT_THAT(done.body, HasSubstr("x-ms-tidemark-source-version: 500\r\n"));
  ASSERT_EQ(call("DELETE", "$operation", {}, fence("op", "1")).status, 200U);
  auto refused = send_batch(part("more", ""), fence("op", "1"));
  EXPECT_EQ(refused.status, 412U);
  EXPECT_EQ(refused.code(), "Fenced");
  EXPECT_EQ(call("GET", one("more")).status, 404U);
  // Each header is allowed only in its place.
  EXPECT_EQ(send_batch(part("more", ""), from("1")).code(), "InvalidHeaderValue");
  EXPECT_THAT(send_batch(part("more", "x-ms-tidemark-operation-id: a\r\nx-ms-tidemark-epoch: 1\r\n"), {}).body,
              HasSubstr("InvalidHeaderValue"));
}

TEST_F(TableFencing, MisspeltSafeguardsAreRefused) {
  EXPECT_EQ(put("r", "{}", {{"x-ms-tidemark-source-versoin", "1"}}).code(), "InvalidHeaderValue");
  for (const char* version : {"", "-1", "1.5", "9223372036854775808", "*", "W/\"abc\""}) {
    EXPECT_EQ(put("r", "{}", from(version)).code(), "InvalidHeaderValue") << version;
  }
  EXPECT_EQ(put("r", "{}", fence("op", "x")).code(), "InvalidHeaderValue");
  EXPECT_EQ(put("r", "{}", fence("", "1")).code(), "InvalidHeaderValue");
  EXPECT_EQ(put("r", "{}", fence("a b", "1")).code(), "InvalidHeaderValue");
  EXPECT_EQ(put("r", "{}", fence(std::string(256, 'i'), "1")).status, 204U);
  EXPECT_EQ(put("r", "{}", fence(std::string(257, 'i'), "1")).code(), "InvalidHeaderValue");
  EXPECT_EQ(put("r", "{}", {{"x-ms-tidemark-operation-id", "op"}}).code(), "MissingRequiredHeader");
  EXPECT_EQ(put("r", "{}", {{"x-ms-tidemark-epoch", "1"}}).code(), "MissingRequiredHeader");
  EXPECT_EQ(call("POST", "$operation").code(), "MissingRequiredHeader");
  EXPECT_EQ(call("PUT", "$operation", {}, fence("op", "1")).code(), "MethodNotAllowed");
  // A source version makes no sense for these.
  EXPECT_EQ(call("PATCH", one("r"), "{}", from("1")).code(), "InvalidHeaderValue");
  EXPECT_EQ(insert(R"({"PartitionKey":"p","RowKey":"n"})", from("1")).code(), "InvalidHeaderValue");
}

TEST_F(TableFencing, ATableSasDoesNotReachTheLedgers) {
  EXPECT_EQ(with_sas(table_sas("raud"), "POST", "$operation", {}, fence("op", "1")).status, 403U);
  EXPECT_EQ(with_sas(account_sas("ru"), "POST", "$operation", {}, fence("op", "1")).status, 200U);
  EXPECT_EQ(with_sas(account_sas("r"), "DELETE", "$operation", {}, fence("op", "1")).status, 403U);
}

}  // namespace
}  // namespace tidemark::table_store
