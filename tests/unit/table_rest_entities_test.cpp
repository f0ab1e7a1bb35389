// Entities over the wire: types, verbs, conditions, metadata, queries.
#include "table_rest_fixture.h"

namespace tidemark::table_store {
namespace {

using testing::HasSubstr;
using testing::Not;

using TableRestTest = TableRestFixture;

constexpr const char* kTag = "W/\"datetime'2026-11-21T12%3A09%3A13.1864608Z'\"";

TEST_F(TableRestTest, InsertAnswersAsRecorded) {
  make_table();
  clock.time += std::chrono::seconds(1);
  auto quiet = insert(R"({"PartitionKey":"pk one","RowKey":"it's & 1","s":"x"})",
                      {{"Prefer", "return-no-content"}, {"x-ms-client-request-id", "abc"}});
  const std::string location =
      "http://127.0.0.1:10002/devstoreaccount1/people(PartitionKey='pk%20one',RowKey='it''s%20%26%201')";
  EXPECT_EQ(quiet.status, 204U);
  EXPECT_EQ(quiet.body, "");
  EXPECT_EQ(quiet.header("Location"), location);
  EXPECT_EQ(quiet.header("DataServiceId"), location);
  EXPECT_EQ(quiet.header("Preference-Applied"), "return-no-content");
  EXPECT_EQ(quiet.header("Cache-Control"), "no-cache");
  EXPECT_EQ(quiet.header("X-Content-Type-Options"), "nosniff");
  EXPECT_EQ(quiet.header("x-ms-version"), "2019-02-02");
  EXPECT_EQ(quiet.header("x-ms-client-request-id"), "abc");
  EXPECT_EQ(quiet.header("ETag"), "W/\"datetime'2026-11-21T12%3A09%3A14.1864608Z'\"");

  auto full = insert(R"({"PartitionKey":"p","RowKey":"r","n":1})", {{"Prefer", "return-content"}});
  EXPECT_EQ(full.status, 201U);
  EXPECT_EQ(full.header("Preference-Applied"), "return-content");
  EXPECT_EQ(full.header("DataServiceId"), "");
  EXPECT_THAT(full.body,
              HasSubstr(R"("PartitionKey":"p","RowKey":"r","Timestamp":"2026-11-21T12:09:14.1864609Z","n":1)"));
  EXPECT_EQ(insert(R"({"PartitionKey":"p","RowKey":"r"})").code(), "EntityAlreadyExists");
  EXPECT_EQ(insert(R"({"PartitionKey":"p","RowKey":"r"})").status, 409U);
}

TEST_F(TableRestTest, EveryTypeComesBackExactly) {
  make_table();
  const std::string sent =
      R"({"PartitionKey":"p","RowKey":"t","s":"h\u00e9llo","e":"","b":true,"i":-2147483648,"big":2147483648,)"
      R"("i64@odata.type":"Edm.Int64","i64":"-9223372036854775808","i64n@odata.type":"Edm.Int64","i64n":5,)"
      R"("nan@odata.type":"Edm.Double","nan":"NaN","inf@odata.type":"Edm.Double","inf":"Infinity",)"
      R"("ninf@odata.type":"Edm.Double","ninf":"-Infinity","two@odata.type":"Edm.Double","two":2,)"
      R"("tiny":5e-324,"tenth":0.1,"neg":-0.0,)"
      R"("old@odata.type":"Edm.DateTime","old":"1601-01-01T00:00:00Z",)"
      R"("new@odata.type":"Edm.DateTime","new":"9999-12-31T23:59:59.9999999Z",)"
      R"("off@odata.type":"Edm.DateTime","off":"2024-02-03T04:05:06.1234567+02:30",)"
      R"("cut@odata.type":"Edm.DateTime","cut":"2020-01-01T01:02:00.1230000",)"
      R"("g@odata.type":"Edm.Guid","g":"0D391D16-97F1-4B9A-BE68-4CC871F90001",)"
      R"("x@odata.type":"Edm.Binary","x":"AQID/w==","x0@odata.type":"Edm.Binary","x0":"","nul":null})";
  ASSERT_EQ(insert(sent, {{"Prefer", "return-no-content"}}).status, 204U);
  EXPECT_EQ(call("GET", one("t"), {}, {{"Accept", "application/json;odata=minimalmetadata"}}).body,
            R"({"odata.metadata":"http://127.0.0.1:10002/devstoreaccount1/$metadata#people/@Element",)"
            R"("odata.etag":"W/\"datetime'2026-11-21T12%3A09%3A13.1864608Z'\"","PartitionKey":"p","RowKey":"t",)"
            R"("Timestamp":"2026-11-21T12:09:13.1864608Z","s":"héllo","e":"","b":true,"i":-2147483648,)"
            R"("big":2147483648.0,"i64@odata.type":"Edm.Int64","i64":"-9223372036854775808",)"
            R"("i64n@odata.type":"Edm.Int64","i64n":"5","nan@odata.type":"Edm.Double","nan":"NaN",)"
            R"("inf@odata.type":"Edm.Double","inf":"Infinity","ninf@odata.type":"Edm.Double","ninf":"-Infinity",)"
            R"("two":2.0,"tiny":5e-324,"tenth":0.1,"neg":-0.0,)"
            R"("old@odata.type":"Edm.DateTime","old":"1601-01-01T00:00:00Z",)"
            R"("new@odata.type":"Edm.DateTime","new":"9999-12-31T23:59:59.9999999Z",)"
            R"("off@odata.type":"Edm.DateTime","off":"2024-02-03T01:35:06.1234567Z",)"
            R"("cut@odata.type":"Edm.DateTime","cut":"2020-01-01T01:02:00.123Z",)"
            R"("g@odata.type":"Edm.Guid","g":"0d391d16-97f1-4b9a-be68-4cc871f90001",)"
            R"("x@odata.type":"Edm.Binary","x":"AQID/w==","x0@odata.type":"Edm.Binary","x0":""})");
}

TEST_F(TableRestTest, DatesOutsideTheRangeAreRefused) {
  make_table();
  const auto code_of = [&](const std::string& date) {
    return insert(R"({"PartitionKey":"p","RowKey":"d","d@odata.type":"Edm.DateTime","d":")" + date + "\"}").code();
  };
  // A .NET property that was never set is the first of these.
  for (const char* date : {"0001-01-01T00:00:00Z", "1600-12-31T23:59:59.9999999Z"}) {
    EXPECT_EQ(code_of(date), "OutOfRangeInput") << date;
  }
  for (const char* date : {"10000-01-01T00:00:00Z", "2024-02-30T00:00:00Z", "x", ""}) {
    EXPECT_EQ(code_of(date), "InvalidInput") << date;
  }
}

TEST_F(TableRestTest, VerbsFollowIfMatch) {
  make_table();
  const std::string body = R"({"n":1})";
  // Without the entity: an upsert makes it, and every conditional request misses it.
  EXPECT_EQ(call("PATCH", one("a"), body, {{"If-Match", "*"}}).code(), "ResourceNotFound");
  EXPECT_EQ(call("PUT", one("a"), body, {{"If-Match", kTag}}).code(), "ResourceNotFound");
  EXPECT_EQ(call("DELETE", one("a"), {}, {{"If-Match", "*"}}).status, 404U);
  auto made = call("PUT", one("a"), body);
  EXPECT_EQ(made.status, 204U);
  const auto tag = made.header("ETag");
  EXPECT_EQ(tag, kTag);
  // A stale tag, a right one, any.
  auto stale = call("MERGE", one("a"), R"({"m":2})", {{"If-Match", "W/\"datetime'2020-08-20T22%3A20%3A23Z'\""}});
  EXPECT_EQ(stale.status, 412U);
  EXPECT_EQ(stale.code(), "UpdateConditionNotSatisfied");
  EXPECT_EQ(call("MERGE", one("a"), R"({"m":2,"gone":null})", {{"If-Match", tag}}).status, 204U);
  EXPECT_THAT(call("GET", one("a")).body, HasSubstr(R"("n":1,"m":2})"));
  EXPECT_EQ(call("PUT", one("a"), R"({"k":3})", {{"If-Match", "*"}}).status, 204U);
  EXPECT_THAT(call("GET", one("a")).body, Not(HasSubstr("\"n\"")));
  EXPECT_EQ(call("PATCH", one("a"), R"({"k2":4})").status, 204U);
  EXPECT_THAT(call("GET", one("a")).body, HasSubstr(R"("k":3,"k2":4})"));
  // Malformed conditions.
  for (const char* wrong : {"abc", "\"abc\"", ""}) {
    EXPECT_EQ(call("PUT", one("a"), body, {{"If-Match", wrong}}).code(), "InvalidInput") << wrong;
    EXPECT_EQ(call("DELETE", one("a"), {}, {{"If-Match", wrong}}).code(), "InvalidInput") << wrong;
  }
  for (const char* nobodys : {"W/\"wrong\"", "w/\"wrong\""}) {
    for (const char* verb : {"PUT", "MERGE", "DELETE"}) {
      const auto answer = call(verb, one("a"), verb == std::string_view("DELETE") ? "" : body, {{"If-Match", nobodys}});
      EXPECT_EQ(answer.code(), "UpdateConditionNotSatisfied") << verb << nobodys;
    }
  }
  EXPECT_EQ(call("PUT", one("a"), body, {{"If-None-Match", "*"}}).code(), "InvalidInput");
  EXPECT_EQ(call("DELETE", one("a"), {}, {{"If-Match", "*"}, {"If-None-Match", "*"}}).code(), "InvalidInput");
  EXPECT_EQ(call("DELETE", one("a")).code(), "MissingRequiredHeader");
  auto gone = call("DELETE", one("a"), {}, {{"If-Match", "*"}});
  EXPECT_EQ(gone.status, 204U);
  EXPECT_EQ(gone.header("ETag"), "");
  EXPECT_EQ(call("GET", one("a")).code(), "ResourceNotFound");
}

TEST_F(TableRestTest, PostTunnelsOtherVerbs) {
  make_table();
  const auto tunnel = [&](const std::string& verb) {
    return call("POST", one("t"), R"({"n":1})", {{"X-HTTP-Method", verb}, {"If-Match", "*"}});
  };
  ASSERT_EQ(call("POST", one("t"), R"({"n":1})", {{"X-HTTP-Method", "PUT"}}).status, 204U);
  EXPECT_EQ(tunnel("MERGE").status, 204U);
  EXPECT_EQ(tunnel("PATCH").status, 204U);
  EXPECT_EQ(tunnel("DELETE").status, 204U);
  EXPECT_EQ(call("POST", one("t"), "{}").status, 405U);
  EXPECT_EQ(tunnel("GET").code(), "XMethodIncorrectValue");
  EXPECT_EQ(tunnel("put").code(), "XMethodIncorrectValue");
  EXPECT_EQ(call("PUT", one("t"), "{}", {{"X-HTTP-Method", "MERGE"}}).code(), "XMethodNotUsingPost");
  EXPECT_EQ(call("GET", one("t"), {}, {{"X-HTTP-Method", "DELETE"}}).code(), "XMethodNotUsingPost");
  EXPECT_EQ(call("POST", one("t"), "{}", {{"X-HTTP-Method", "PUT"}, {"x-http-method", "MERGE"}}).code(),
            "XMethodIncorrectCount");
}

TEST_F(TableRestTest, KeysOfBodyAndUrlMustAgree) {
  make_table();
  EXPECT_EQ(call("PUT", one("r"), R"({"PartitionKey":"p","RowKey":"r"})").status, 204U);
  EXPECT_EQ(call("PUT", one("r"), R"({"PartitionKey":"p","RowKey":"other"})").code(), "InvalidInput");
  EXPECT_EQ(call("PATCH", one("r"), R"({"PartitionKey":"other"})").code(), "InvalidInput");
  EXPECT_EQ(insert(R"({"PartitionKey":"p"})").code(), "PropertiesNeedValue");
  EXPECT_EQ(insert(R"({"PartitionKey":null,"RowKey":"r"})").code(), "PropertiesNeedValue");
  EXPECT_EQ(insert(R"({"PartitionKey":1,"RowKey":"r"})").code(), "InvalidInput");
}

TEST_F(TableRestTest, KeysKeepEveryAllowedCharacter) {
  make_table();
  for (const std::string key : {"", " ", "a'b''c", "100%", "a+b&c=d,e;f:g@h\"i", "h\xC3\xA9\xF0\x9F\x98\x80"}) {
    std::string json = "{\"PartitionKey\":";
    append_json_string(json, key);
    json += ",\"RowKey\":";
    append_json_string(json, key);
    ASSERT_EQ(insert(json + "}", {{"Prefer", "return-no-content"}}).status, 204U) << key;
    std::string path;
    append_entity_path(path, "people", key, key);
    auto found = call("GET", path, {}, {{"Accept", "application/json;odata=nometadata"}});
    EXPECT_EQ(found.status, 200U) << path;
    std::string expected = "{\"PartitionKey\":";
    append_json_string(expected, key);
    EXPECT_THAT(found.body, testing::StartsWith(expected));
  }
  EXPECT_EQ(call("GET", one("a%2Fb")).code(), "OutOfRangeInput");
  auto slash = call("GET", one("a/b"));
  EXPECT_EQ(slash.code(), "InvalidInput");
  EXPECT_THAT(slash.body, HasSubstr("Bad Request - Error in query syntax"));
}

TEST_F(TableRestTest, MetadataLevels) {
  make_table();
  ASSERT_EQ(insert(R"({"PartitionKey":"p","RowKey":"r","d@odata.type":"Edm.Int64","d":"1"})").status, 201U);
  const auto get = [&](const std::string& accept, const std::string& query = "") {
    return call("GET", one("r") + query, {}, {{"Accept", accept}});
  };
  auto none = get("application/json;odata=nometadata");
  EXPECT_EQ(none.body, R"({"PartitionKey":"p","RowKey":"r","Timestamp":"2026-11-21T12:09:13.1864608Z","d":"1"})");
  EXPECT_EQ(none.header("Content-Type"), "application/json;odata=nometadata;streaming=true;charset=utf-8");
  EXPECT_EQ(none.header("ETag"), kTag);
  auto full = get("application/json; odata=fullmetadata");
  EXPECT_EQ(full.body, R"({"odata.metadata":"http://127.0.0.1:10002/devstoreaccount1/$metadata#people/@Element",)"
                       R"("odata.type":"devstoreaccount1.people",)"
                       R"j("odata.id":"http://127.0.0.1:10002/devstoreaccount1/people(PartitionKey='p',RowKey='r')",)j"
                       R"("odata.etag":"W/\"datetime'2026-11-21T12%3A09%3A13.1864608Z'\"",)"
                       R"j("odata.editLink":"people(PartitionKey='p',RowKey='r')","PartitionKey":"p","RowKey":"r",)j"
                       R"("Timestamp@odata.type":"Edm.DateTime","Timestamp":"2026-11-21T12:09:13.1864608Z",)"
                       R"("d@odata.type":"Edm.Int64","d":"1"})");
  for (const char* accept : {"", "*/*", "application/json", "application/json;odata=minimalmetadata"}) {
    EXPECT_THAT(get(accept).body, HasSubstr("odata.etag")) << accept;
  }
  // $format takes precedence.
  EXPECT_EQ(get("application/json;odata=fullmetadata", "?$format=application%2Fjson%3Bodata%3Dnometadata").body,
            none.body);
  EXPECT_EQ(get("application/atom+xml").code(), "AtomFormatNotSupported");
  EXPECT_EQ(get("application/json;odata=verbose").code(), "JsonFormatNotSupported");
  EXPECT_EQ(get("text/csv").code(), "MediaTypeNotSupported");
  EXPECT_EQ(get("text/csv").status, 415U);
}

TEST_F(TableRestTest, BodiesAreJson) {
  make_table();
  const std::string body = R"({"PartitionKey":"p","RowKey":"r"})";
  EXPECT_EQ(insert(body, {{"Content-Type", "application/atom+xml"}}).code(), "AtomFormatNotSupported");
  EXPECT_EQ(insert(body, {{"Content-Type", "text/plain"}}).code(), "MediaTypeNotSupported");
  EXPECT_EQ(insert(body, {{"Content-Type", "application/json;odata=nometadata"}}).status, 201U);
  EXPECT_EQ(insert("not json").code(), "InvalidInput");
  EXPECT_EQ(insert(R"({"PartitionKey":"p","RowKey":"2","a":1,"a":2})").code(), "DuplicatePropertiesSpecified");
  EXPECT_EQ(insert(R"({"PartitionKey":"p","RowKey":"2","a@odata.type":"Edm.Int32"})").code(), "InvalidInput");
  EXPECT_EQ(insert(R"({"PartitionKey":"p","RowKey":"2","a@odata.type":"Edm.Time","a":"1"})").code(), "InvalidInput");
  // System properties that other clients send back cannot be set by a client.
  EXPECT_EQ(insert(R"({"odata.etag":"W/\"x\"","odata.metadata":"u","PartitionKey":"p","RowKey":"2",)"
                   R"("PartitionKey@odata.type":"Edm.String","Timestamp@odata.type":"Edm.DateTime","Timestamp":null})")
                .status,
            201U);
}

TEST_F(TableRestTest, PagesGoOnWhereTheyEnded) {
  make_table();
  for (const char* row : {"a", "b", "c"}) {
    ASSERT_EQ(insert(R"({"PartitionKey":"p","RowKey":")" + std::string(row) + "\"}").status, 201U);
  }
  auto page = call("GET", "people()?$top=2&$select=RowKey", {}, {{"Accept", "application/json;odata=nometadata"}});
  EXPECT_EQ(page.body, R"({"value":[{"RowKey":"a"},{"RowKey":"b"}]})");
  EXPECT_EQ(page.header("x-ms-continuation-NextPartitionKey"), "1!4!cA--");
  EXPECT_EQ(page.header("x-ms-continuation-NextRowKey"), "1!4!Yw--");
  const std::string from = "&NextPartitionKey=1!4!cA--&NextRowKey=1!4!Yw--";
  auto rest =
      call("GET", "people()?$top=1&$select=RowKey" + from, {}, {{"Accept", "application/json;odata=nometadata"}});
  EXPECT_EQ(rest.body, R"({"value":[{"RowKey":"c"}]})");
  EXPECT_EQ(rest.header("x-ms-continuation-NextPartitionKey"), "");
  // No row key: from the beginning of the partition.
  for (const char* start : {"&NextPartitionKey=1!4!cA--", "&NextPartitionKey=1!4!cA--&NextRowKey="}) {
    EXPECT_THAT(call("GET", std::string("people()?$select=RowKey") + start).body, HasSubstr(R"("RowKey":"a")"));
  }
  EXPECT_EQ(call("GET", "people()?NextPartitionKey=garbage").code(), "InvalidInput");
}

TEST_F(TableRestTest, TopIsOneToAThousand) {
  make_table();
  for (const char* top : {"1", "1000", ""}) EXPECT_EQ(call("GET", std::string("people?$top=") + top).status, 200U);
  const auto none = call("GET", "people?$top=0");
  EXPECT_EQ(none.status, 200U);
  EXPECT_NE(none.body.find("\"value\":[]"), std::string::npos) << none.body;
  EXPECT_TRUE(none.header("x-ms-continuation-NextPartitionKey").empty());
  EXPECT_EQ(call("GET", "people?$top=0&$filter=(").code(), "InvalidInput");
  for (const char* top : {"1001", "-1", "x", "1.5"}) {
    EXPECT_EQ(call("GET", std::string("people?$top=") + top).code(), "InvalidInput") << top;
  }
}

TEST_F(TableRestTest, SelectTakesEveryForm) {
  make_table();
  ASSERT_EQ(insert(R"({"PartitionKey":"p","RowKey":"r","a":1,"b@odata.type":"Edm.Int64","b":"2"})").status, 201U);
  const auto select = [&](const std::string& text) {
    return call("GET", "people()?$select=" + text, {}, {{"Accept", "application/json;odata=nometadata"}}).body;
  };
  const std::string everything =
      R"({"value":[{"PartitionKey":"p","RowKey":"r","Timestamp":"2026-11-21T12:09:13.1864608Z","a":1,"b":"2"}]})";
  for (const char* all : {"", "%20", "*", "a,*"}) EXPECT_EQ(select(all), everything) << all;
  EXPECT_EQ(select("b%2Ca"), R"({"value":[{"a":1,"b":"2"}]})");
  EXPECT_EQ(select("nothing"), R"({"value":[{}]})");
  EXPECT_EQ(call("GET", one("r") + "?$select=b").body,
            R"({"odata.metadata":"http://127.0.0.1:10002/devstoreaccount1/$metadata#people/@Element",)"
            R"("odata.etag":"W/\"datetime'2026-11-21T12%3A09%3A13.1864608Z'\"","b@odata.type":"Edm.Int64","b":"2"})");
  EXPECT_THAT(call("GET", "people()?$select=a,b").body, HasSubstr("$metadata#people&$select=a,b\""));
}

TEST_F(TableRestTest, FilterErrorsSayWhere) {
  make_table();
  auto wrong = call("GET", "people()?$filter=aaa%20bbb%20ccc");
  EXPECT_EQ(wrong.code(), "InvalidInput");
  EXPECT_THAT(wrong.body, HasSubstr("in 'aaa bbb ccc'"));
  EXPECT_EQ(call("GET", "people()?$filter=startswith(a,'b')").code(), "NotImplemented");
  EXPECT_EQ(call("GET", "people()?$filter=").status, 200U);
  EXPECT_EQ(call("GET", "nobody()?$filter=").code(), "TableNotFound");
}

TEST_F(TableRestTest, TablesComeAndGo) {
  auto made = call("POST", "Tables", R"({"TableName":"Mixed"})");
  EXPECT_EQ(made.status, 201U);
  EXPECT_EQ(made.header("Location"), "http://127.0.0.1:10002/devstoreaccount1/Tables('Mixed')");
  EXPECT_EQ(made.body, R"({"odata.metadata":"http://127.0.0.1:10002/devstoreaccount1/$metadata#Tables/@Element",)"
                       R"("TableName":"Mixed"})");
  EXPECT_EQ(call("POST", "Tables", R"({"TableName":"mIXED"})").code(), "TableAlreadyExists");
  EXPECT_EQ(call("GET", "Tables('MIXED')").status, 200U);
  EXPECT_EQ(call("GET", "Tables", {}, {{"Accept", "application/json;odata=nometadata"}}).body,
            R"({"value":[{"TableName":"Mixed"}]})");
  EXPECT_EQ(call("DELETE", "Tables('mixed')").status, 204U);
  auto missing = call("DELETE", "Tables('mixed')");
  EXPECT_EQ(missing.status, 404U);
  EXPECT_EQ(missing.code(), "ResourceNotFound");
  EXPECT_EQ(call("GET", "Tables('mixed')").code(), "ResourceNotFound");
  EXPECT_EQ(call("PUT", "Tables('mixed')").code(), "MethodNotAllowed");
  EXPECT_EQ(call("POST", "Mixed", R"({"PartitionKey":"p","RowKey":"r"})").code(), "TableNotFound");
}

}  // namespace
}  // namespace tidemark::table_store
