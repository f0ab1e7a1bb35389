#include "tests/unit/auth_support.h"

namespace tidemark::auth::testing {
namespace {

struct Expected {
  const char* host;
  const char* path;
  bool secondary;
  const char* rest;
};

TEST(Resource, ReadsPathStyleAndHostStyle) {
  const std::vector<Expected> cases{
      {"127.0.0.1:10002", "/devstoreaccount1/Tables", false, "Tables"},
      {"127.0.0.1", "/devstoreaccount1", false, ""},
      {"localhost:1", "/devstoreaccount1/", false, ""},
      {"[::1]:1", "/devstoreaccount1/a/b%2F", false, "a/b%2F"},
      {"", "/devstoreaccount1-secondary/x", true, "x"},
      {"host.docker.internal:1", "/devstoreaccount1/x", false, "x"},
      {"tidemark.internal", "/devstoreaccount1/x", false, "x"},
      {"devstoreaccount1.queue.localhost:21001", "/q/messages", false, "q/messages"},
      {"DevStoreAccount1-Secondary.table.localhost", "/Tables", true, "Tables"},
      {"devstoreaccount1.blob.localhost", "/devstoreaccount1/x", false, "devstoreaccount1/x"},
      {"devstoreaccount1.blob.localhost", "/", false, ""},
  };
  for (const auto& expected : cases) {
    auto resource = parse_resource(expected.host, expected.path, accounts());
    ASSERT_TRUE(resource.has_value()) << expected.host << expected.path;
    EXPECT_EQ(resource->account, "devstoreaccount1");
    EXPECT_EQ(resource->secondary, expected.secondary) << expected.path;
    EXPECT_EQ(resource->rest, expected.rest);
  }
}

TEST(Resource, RefusesUnknownAccounts) {
  EXPECT_TRUE(parse_resource("127.0.0.1", "/nobody/x", accounts()).failed_with(ErrorCode::kResourceNotFound));
  EXPECT_TRUE(parse_resource("nobody.blob.localhost", "/x", accounts()).failed_with(ErrorCode::kResourceNotFound));
  EXPECT_TRUE(parse_resource("127.0.0.1", "/", accounts()).failed_with(ErrorCode::kInvalidUri));
  EXPECT_TRUE(parse_resource("127.0.0.1", "", accounts()).failed_with(ErrorCode::kInvalidUri));
  EXPECT_TRUE(parse_resource("127.0.0.1", "*", accounts()).failed_with(ErrorCode::kInvalidUri));
}

TEST(Resource, ASecondaryHostDoesNotRewriteThePathThatWasSigned) {
  Call call;
  call.service = Service::kTable;
  call.host = "devstoreaccount1-secondary.table.localhost";
  call.path = "/devstoreaccount1-secondary/x";
  call.headers = {{"x-ms-date", kVectorDate}, {"Authorization", ""}};
  const auto sign = [&](const std::string& path) {
    std::string text = kVectorDate;
    text.append("\n/devstoreaccount1").append(path);
    call.headers.back().second = "SharedKeyLite devstoreaccount1:" + signed_with(development_key(), text);
  };
  sign(call.path);
  EXPECT_TRUE(run(call, vector_time()).has_value());
  sign("/devstoreaccount1/x");
  EXPECT_FALSE(run(call, vector_time()).has_value());
}

}  // namespace
}  // namespace tidemark::auth::testing
