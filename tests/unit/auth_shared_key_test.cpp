#include "common/auth/shared_key.h"
#include "tests/unit/auth_support.h"

namespace tidemark::auth::testing {
namespace {

Call make(Service service, std::string method, std::string path, std::string query, HeaderList headers,
          const std::string& signature, bool lite = false) {
  Call call;
  call.service = service;
  call.method = std::move(method);
  call.path = std::move(path);
  call.query = std::move(query);
  call.headers = std::move(headers);
  call.headers.emplace_back("x-ms-date", kVectorDate);
  call.headers.emplace_back("Authorization",
                            std::string(lite ? "SharedKeyLite" : "SharedKey") + " devstoreaccount1:" + signature);
  return call;
}

Call at_host(Call call, std::string host) {
  call.host = std::move(host);
  return call;
}

const std::string kA = "/devstoreaccount1";
const std::pair<std::string, std::string> kVersion{"x-ms-version", "2021-12-02"};

HeaderList blob_put(std::initializer_list<std::pair<std::string, std::string>> more) {
  HeaderList out{{"x-ms-blob-type", "BlockBlob"}, kVersion, {"Content-Length", "5"}, {"Content-Type", "text/plain"}};
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

}  // namespace

std::vector<Vector> shared_key_vectors() {
  const auto queue = Service::kQueue, blob = Service::kBlob, table = Service::kTable;
  const std::string container = kA + "/samplecontainer";
  return {
      {"V1", make(queue, "PUT", kA + "/sample-queue", "timeout=30",
                  {{"X-Ms-Meta-Owner", "ann"}, kVersion, {"Content-Length", "0"}},
                  "cKqcV8cTZ3n65eBCOvvAsJQW9yVisyTC5AaVF5o41mE=")},
      {"V2", make(queue, "POST", kA + "/sample-queue/messages", "visibilitytimeout=0&messagettl=3600",
                  {kVersion, {"Content-Type", "application/xml"}, {"Content-Length", "64"}},
                  "px0WL+DpYyBJvCtd95DQ0MCwFM/4jEz2WnRsKVG+A5g=")},
      {"V3", make(queue, "GET", kA + "/sample-queue", "comp=metadata", {kVersion},
                  "6XlUlrLozCr06RSQvOfzRL8mq8Aj9z2f/YxXwCCPS+M=", true)},
      {"V4", make(blob, "PUT", container + "/dir/my%20file.txt", "", blob_put({{"If-None-Match", "*"}}),
                  "h+UK7vJ3n6AhE5vTSWdbcY1xGhHt2jNDCg+dtyJwtIM=")},
      {"V5 list", make(blob, "GET", container, "restype=container&comp=list&prefix=dir%2F&include=metadata%2Csnapshots",
                       {kVersion}, "g7o5VHG4NC0Lp1Qqr7WgaowJSYE66mJOsiF6Hx8QJdc=")},
      {"V5 create",
       make(blob, "PUT", container, "restype=container", {kVersion}, "m0HQxwL1IPT4dRMWMEHdVh6AL+UbkRCm8XznrIgLxeU=")},
      {"V5 range", make(blob, "GET", container + "/dir/my%20file.txt", "", {kVersion, {"Range", "bytes=0-1"}},
                        "nR71zJu+GJzXT2cwf/eFjhd8qq7pWifFCk6qx5I9LK0=")},
      {"V6", make(blob, "PUT", container + "/m", "", blob_put({{"x-ms-meta-a1", "2"}, {"x-ms-meta-a_b", "1"}}),
                  "yR6SDsVl+GZyKm9q4NKiviyOs1bYUvJyHIGwwrMWGbU=")},
      {"V6 ascii", make(blob, "PUT", container + "/m", "", blob_put({{"x-ms-meta-a1", "2"}, {"x-ms-meta-a_b", "1"}}),
                        "kRzj108ubCjc/BejGlHQmUxfZAymjZ+pin103RvKF2U=")},
      {"V7", make(table, "POST", kA + "/Tables", "", {{"Content-Type", "application/json"}},
                  "y4+YjpWa9p2hSLUPdRNaIBrE0mwOp91eMBmGLPtaGEM=")},
      {"V8", make(table, "PUT", kA + "/SampleTable(PartitionKey='p%201',RowKey='it''s')", "", {},
                  "lPMa/PTIK4tfLW64k+d4GBRESYd2Yzxe1bm53UiTkyc=", true)},
      {"V9",
       make(table, "GET", kA + "/SampleTable", "comp=acl", {}, "9LONojwmOMwlvLUqlqvrW3gW9ZJHBoXiVu9OBdyy1Eg=", true)},
      {"V10 queue", at_host(make(queue, "GET", "/sample-queue", "comp=metadata", {kVersion},
                                 "VEghSyktqifOhwsA/etoOPHkowMlg5LTkqT72rk9Yb8="),
                            "devstoreaccount1.queue.localhost:21001")},
      {"V10 table", at_host(make(table, "GET", "/Tables", "", {}, "CrplI03SynzuabaubtYqZXqy9M8In/IrHLE6rGXPuiE="),
                            "devstoreaccount1.table.localhost")},
      {"V11", make(table, "GET", kA + "-secondary/", "restype=service&comp=stats", {},
                   "0jvlINixEHMrt0mDnh0mqaERrUh/12S+LiQ3259TJYA=", true)},
      {"V11 plain", make(table, "GET", kA + "-secondary/", "restype=service&comp=stats", {},
                         "fMg059AA3BF+DXfI/SZyx0NHssDiejrUqqHQyIv1W4o=", true)},
  };
}

namespace {

std::string& authorization_of(Call& call) { return call.headers.back().second; }

TEST(SharedKey, AcceptsEveryVectorAgainAndAgain) {
  for (int round = 0; round < 2; ++round) {  // the second round uses the kept hash state
    for (const auto& [name, call] : shared_key_vectors()) {
      auto identity = run(call, vector_time());
      ASSERT_TRUE(identity.has_value()) << name;
      EXPECT_EQ(identity->scheme, Scheme::kSharedKey) << name;
      EXPECT_EQ(identity->account, "devstoreaccount1") << name;
    }
  }
}

TEST(SharedKey, RefusesEveryVectorWithOneByteOfTheAuthorizationChanged) {
  for (const auto& [name, call] : shared_key_vectors()) {
    for (std::size_t i = 0; i < call.headers.back().second.size(); ++i) {
      Call changed = call;
      char& byte = authorization_of(changed)[i];
      byte = byte == 'A' ? 'B' : 'A';
      EXPECT_FALSE(run(changed, vector_time()).has_value()) << name << " byte " << i;
    }
  }
}

TEST(SharedKey, RefusesEveryVectorWithOneByteOfThePathChanged) {
  for (const auto& [name, call] : shared_key_vectors()) {
    for (std::size_t i = 0; i < call.path.size(); ++i) {
      Call changed = call;
      changed.path[i] = changed.path[i] == 'z' ? 'y' : 'z';
      EXPECT_FALSE(run(changed, vector_time()).has_value()) << name << " byte " << i;
    }
  }
}

TEST(SharedKey, RefusesEveryVectorWithASignedHeaderChanged) {
  for (const auto& [name, call] : shared_key_vectors()) {
    for (std::size_t h = 0; h + 1 < call.headers.size(); ++h) {
      const bool unsigned_header = call.service == Service::kTable && call.headers[h].first == "Content-Length";
      if (unsigned_header) continue;
      for (std::size_t i = 0; i < call.headers[h].second.size(); ++i) {
        Call changed = call;
        char& byte = changed.headers[h].second[i];
        byte = byte == '7' ? '8' : '7';
        EXPECT_FALSE(run(changed, vector_time(), {.check_clock_skew = false}).has_value())
            << name << " " << call.headers[h].first << " byte " << i;
      }
    }
  }
}

TEST(SharedKey, RefusesEveryVectorWithOneByteOfASignedQueryChanged) {
  for (const auto& [name, call] : shared_key_vectors()) {
    const bool only_comp = call.service == Service::kTable || call.headers.back().second.starts_with("SharedKeyLite");
    const auto first = only_comp ? std::min(call.query.find("comp="), call.query.size()) : 0;
    for (std::size_t i = first; i < call.query.size(); ++i) {
      Call changed = call;
      changed.query[i] = changed.query[i] == 'z' ? 'y' : 'z';
      EXPECT_FALSE(run(changed, vector_time()).has_value()) << name << " byte " << i;
    }
  }
}

TEST(SharedKey, RefusesAnotherMethodAndAddedHeaders) {
  for (const auto& [name, call] : shared_key_vectors()) {
    if (call.service == Service::kTable) continue;  // tables sign less
    Call changed = call;
    changed.method = "DELETE";
    EXPECT_FALSE(run(changed, vector_time()).has_value()) << name;
    changed = call;
    changed.headers.insert(changed.headers.begin(), {"x-ms-meta-added", "1"});
    EXPECT_FALSE(run(changed, vector_time()).has_value()) << name;
  }
}

TEST(SharedKey, AcceptsFifteenMinutesOfSkewAndNotOneTickMore) {
  const auto call = shared_key_vectors().front().call;
  for (const int sign : {-1, 1}) {
    const auto limit = std::chrono::duration_cast<Duration>(std::chrono::minutes(15)) * sign;
    EXPECT_TRUE(run(call, vector_time() + limit).has_value());
    const auto late = run(call, vector_time() + limit + Ticks(sign));
    EXPECT_EQ(code_of(late), ErrorCode::kAuthenticationFailed);
    EXPECT_NE(late.error().fields.at(0).second.find("15 minutes"), std::string::npos);
  }
  EXPECT_TRUE(run(call, sas_time(), {.check_clock_skew = false}).has_value());
}

TEST(SharedKey, NeedsADate) {
  auto call = shared_key_vectors()[9].call;
  std::erase_if(call.headers, [](const auto& header) { return header.first == "x-ms-date"; });
  EXPECT_EQ(code_of(run(call, vector_time(), {.check_clock_skew = false})), ErrorCode::kAuthenticationFailed);
  call.headers.emplace_back("Date", kVectorDate);  // a table signs either
  EXPECT_TRUE(run(call, vector_time()).has_value());
  call.headers.back().second = "yesterday";
  EXPECT_EQ(code_of(run(call, vector_time())), ErrorCode::kAuthenticationFailed);
}

TEST(SharedKey, MalformedHeadersAreBadRequestsAndBearerIsRefused) {
  auto call = shared_key_vectors().front().call;
  for (const char* text :
       {"", "SharedKey", "SharedKey ", "SharedKey x", "Basic abc", "sharedkey a:b", "NotAScheme a:b"}) {
    authorization_of(call) = text;
    EXPECT_EQ(code_of(run(call, vector_time())), ErrorCode::kInvalidAuthenticationInfo) << text;
  }
  for (const char* text : {"SharedKey devstoreaccount1:", "SharedKey other:AAAA", "SharedKey :", "Bearer abc"}) {
    authorization_of(call) = text;
    EXPECT_EQ(code_of(run(call, vector_time())), ErrorCode::kAuthenticationFailed) << text;
  }
  call = shared_key_vectors().front().call;
  call.headers.emplace_back("authorization", "SharedKey a:b");
  EXPECT_EQ(code_of(run(call, vector_time())), ErrorCode::kInvalidAuthenticationInfo);
}

TEST(SharedKey, AcceptsBothKeysOfAnAccount) {
  Call call;
  call.service = Service::kTable;
  call.path = "/other/Tables";
  call.headers = {{"x-ms-date", kVectorDate}, {"Authorization", ""}};
  const std::string text = std::string(kVectorDate) + "\n/other/other/Tables";
  for (const auto* key : {"secret-a", "secret-b"}) {
    authorization_of(call) = "SharedKeyLite other:" + signed_with(key, text);
    EXPECT_TRUE(run(call, vector_time()).has_value()) << key;
  }
  authorization_of(call) = "SharedKeyLite other:" + signed_with("secret-c", text);
  EXPECT_FALSE(run(call, vector_time()).has_value());
  authorization_of(call) = "SharedKeyLite other:" + signed_with(development_key(), text);
  EXPECT_FALSE(run(call, vector_time()).has_value());
}

TEST(SharedKey, ToleratesEitherOrderOfEncodingAndLanguage) {
  Call call;
  call.path = "/devstoreaccount1/q";
  call.headers = {{"Content-Encoding", "gzip"}, {"x-ms-date", kVectorDate}, {"Authorization", ""}};
  const std::string tail =
      std::string("\n\n\n\n\n\n\n\n\n\nx-ms-date:") + kVectorDate + "\n/devstoreaccount1" + call.path;
  for (const char* head : {"GET\ngzip\n", "GET\n\ngzip"}) {
    authorization_of(call) = "SharedKey devstoreaccount1:" + signed_with(development_key(), head + tail);
    EXPECT_EQ(run(call, vector_time()).has_value(), true) << head;
  }
}

TEST(SharedKey, JoinsRepeatedHeadersAndParametersAndKeepsEmptyOnes) {
  Call call;
  call.path = "/devstoreaccount1/q";
  call.query = "B=2&a&b=1&c=x%2By+z";
  call.headers = {{"x-ms-meta-e", ""},  {"x-ms-meta-d", "  1"},     {"X-MS-Meta-D", "2 \r\n\t 3 "},
                  {"x-ms-meta", "odd"}, {"x-ms-date", kVectorDate}, {"Authorization", ""}};
  const std::string text = std::string("GET\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:") + kVectorDate +
                           "\nx-ms-meta:odd\nx-ms-meta-d:1,2  3\nx-ms-meta-e:\n/devstoreaccount1" + call.path +
                           "\na:\nb:1,2\nc:x+y z";
  authorization_of(call) = "SharedKey devstoreaccount1:" + signed_with(development_key(), text);
  EXPECT_TRUE(run(call, vector_time()).has_value());
}

TEST(SharedKey, NeverShowsTheExpectedSignature) {
  for (const auto& [name, call] : shared_key_vectors()) {
    const auto expected = call.headers.back().second.substr(call.headers.back().second.find(':') + 1);
    Call changed = call;
    authorization_of(changed).back() = '!';
    const auto refused = run(changed, vector_time());
    ASSERT_FALSE(refused.has_value()) << name;
    EXPECT_EQ(refused.error().message.find(expected), std::string::npos);
    for (const auto& field : refused.error().fields) EXPECT_EQ(field.second.find(expected), std::string::npos);
  }
}

TEST(HeaderOrder, IsALinguisticCollation) {
  EXPECT_TRUE(collates_before("x-ms-meta-a_b", "x-ms-meta-a1"));
  EXPECT_TRUE(collates_before("x-ms-meta-a1", "x-ms-meta-ab"));
  EXPECT_TRUE(collates_before("x-ms-copysource", "x-ms-copy-source"));
  EXPECT_FALSE(collates_before("x-ms-copy-source", "x-ms-copysource"));
  EXPECT_TRUE(collates_before("x-ms-blob-type", "x-ms-date"));
  EXPECT_TRUE(collates_before("x-ms-meta", "x-ms-meta-a"));
  EXPECT_FALSE(collates_before("x-ms-meta", "x-ms-meta"));
}

}  // namespace
}  // namespace tidemark::auth::testing
