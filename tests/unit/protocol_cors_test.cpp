#include <gmock/gmock.h>

#include "common/protocol/cors.h"

namespace tidemark::protocol {
namespace {

using testing::Contains;
using testing::Not;
using testing::Pair;

const CorsRules kRules = {
    {{"https://app.example", "http://b"}, {"PUT", "GET"}, {"x-ms-*", "content-type"}, {"x-ms-meta-*", "ETag"}, 60},
    {{"*"}, {"HEAD"}, {"*"}, {"*"}, 5},
};

http::Request request(std::string_view method, std::vector<std::pair<std::string_view, std::string_view>> headers) {
  http::Request out;
  out.method = method;
  out.headers = std::move(headers);
  return out;
}

std::vector<std::pair<std::string_view, std::string_view>> lines_of(const http::Response& response) {
  std::vector<std::pair<std::string_view, std::string_view>> lines;
  for (const auto line : response.headers) lines.push_back(line);
  return lines;
}

TEST(Cors, FirstMatchingRuleWins) {
  EXPECT_EQ(match_preflight(kRules, "https://app.example", "PUT", "x-ms-version, Content-Type"), &kRules[0]);
  EXPECT_EQ(match_preflight(kRules, "https://app.example", "PUT", ""), &kRules[0]);
  EXPECT_EQ(match_preflight(kRules, "https://app.example", "HEAD", "anything"), &kRules[1]);
  EXPECT_EQ(match_preflight(kRules, "https://APP.example", "PUT", ""), nullptr);
  EXPECT_EQ(match_preflight(kRules, "https://app.example", "put", ""), nullptr);
  EXPECT_EQ(match_preflight(kRules, "https://app.example", "PUT", "x-ms-version,authorization"), nullptr);
  EXPECT_EQ(match_preflight(kRules, "https://app.example", "DELETE", ""), nullptr);
}

TEST(Cors, AStarInAnOriginStandsForSomeCharacters) {
  const CorsRules rules = {{{"http://*.contoso.com", "https://app-*.example:8080"}, {"GET"}, {}, {}, 60}};
  for (const auto* const origin : {"http://www.contoso.com", "http://a.b.contoso.com", "https://app-1.example:8080"}) {
    EXPECT_EQ(match_preflight(rules, origin, "GET", ""), rules.data()) << origin;
    http::Response response;
    add_cors_headers(rules, request("GET", {{"Origin", origin}}), response);
    EXPECT_THAT(lines_of(response), Contains(Pair("Access-Control-Allow-Origin", origin)));
  }
  for (const auto* const origin :
       {"http://contoso.com", "http://.contoso.com", "https://www.contoso.com", "http://www.contoso.com.evil",
        "http://evil/.contoso.com:80", "https://app-1.example", "http://www.CONTOSO.com"}) {
    EXPECT_EQ(match_preflight(rules, origin, "GET", ""), nullptr) << origin;
  }
}

TEST(Cors, PreflightEchoesWhatWasAskedFor) {
  auto answer = answer_preflight(kRules, request("OPTIONS", {{"origin", "https://app.example"},
                                                             {"Access-Control-Request-Method", "PUT"},
                                                             {"access-control-request-headers", "x-ms-date"}}));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200U);
  EXPECT_THAT(lines_of(*answer), testing::ElementsAre(Pair("Access-Control-Allow-Origin", "https://app.example"),
                                                      Pair("Access-Control-Allow-Credentials", "true"),
                                                      Pair("Access-Control-Allow-Methods", "PUT"),
                                                      Pair("Access-Control-Allow-Headers", "x-ms-date"),
                                                      Pair("Access-Control-Max-Age", "60")));
  auto anyone =
      answer_preflight(kRules, request("OPTIONS", {{"Origin", "http://x"}, {"Access-Control-Request-Method", "HEAD"}}));
  ASSERT_TRUE(anyone);
  EXPECT_THAT(lines_of(*anyone), Contains(Pair("Access-Control-Allow-Origin", "*")));
  EXPECT_THAT(lines_of(*anyone), Not(Contains(Pair("Access-Control-Allow-Credentials", "true"))));
}

TEST(Cors, PreflightIsRefusedWithoutRuleOriginOrMethod) {
  const auto plain = request("OPTIONS", {{"Origin", "http://x"}, {"Access-Control-Request-Method", "PUT"}});
  EXPECT_TRUE(answer_preflight(kRules, plain).failed_with(ErrorCode::kCorsPreflightFailure));
  EXPECT_TRUE(answer_preflight({}, plain).failed_with(ErrorCode::kCorsPreflightFailure));
  EXPECT_TRUE(answer_preflight(kRules, request("OPTIONS", {{"Access-Control-Request-Method", "PUT"}}))
                  .failed_with(ErrorCode::kInvalidHeaderValue));
  const auto without_method = answer_preflight(kRules, request("OPTIONS", {{"Origin", "http://b"}}));
  ASSERT_TRUE(without_method.failed_with(ErrorCode::kInvalidHeaderValue));
  EXPECT_EQ(without_method.error().message, "A required CORS header is not present.");
}

TEST(Cors, ActualRequestExposesWhatTheAnswerHas) {
  http::Response response;
  response.status = 404;
  response.set("x-ms-meta-A", "1");
  response.set("x-ms-version", "1");
  add_cors_headers(kRules, request("GET", {{"Origin", "http://b"}}), response);
  EXPECT_THAT(lines_of(response), Contains(Pair("Vary", "Origin")));
  EXPECT_THAT(lines_of(response), Contains(Pair("Access-Control-Allow-Origin", "http://b")));
  EXPECT_THAT(lines_of(response), Contains(Pair("Access-Control-Allow-Credentials", "true")));
  EXPECT_THAT(lines_of(response), Contains(Pair("Access-Control-Expose-Headers", "x-ms-meta-A,ETag")));
}

TEST(Cors, ActualRequestIsServedWhoeverAsks) {
  http::Response stranger;
  add_cors_headers(kRules, request("GET", {{"Origin", "http://x"}}), stranger);
  EXPECT_THAT(lines_of(stranger), testing::ElementsAre(Pair("Vary", "Origin")));
  http::Response put;
  add_cors_headers(kRules, request("PUT", {}), put);
  EXPECT_TRUE(put.headers.empty());
  http::Response everyone;
  everyone.set("ETag", "1");
  add_cors_headers(kRules, request("HEAD", {}), everyone);
  EXPECT_THAT(lines_of(everyone),
              testing::ElementsAre(Pair("ETag", "1"), Pair("Access-Control-Allow-Origin", "*"),
                                   Pair("Access-Control-Expose-Headers", "ETag,Content-Length,Date,Server")));
  http::Response none;
  add_cors_headers({}, request("GET", {{"Origin", "http://b"}}), none);
  EXPECT_TRUE(none.headers.empty());
}

TEST(CorsPolicies, FollowTheStoredDocument) {
  CorsPolicies policies;
  EXPECT_FALSE(policies.any());
  ServiceProperties properties;
  properties.cors = kRules;
  policies.refresh("acct",
                   [&]() -> Result<std::string> { return render_service_properties(StoreKind::kTable, properties); });
  ASSERT_NE(policies.rules_of("acct"), nullptr);
  EXPECT_EQ(*policies.rules_of("acct"), kRules);
  EXPECT_EQ(policies.rules_of("other"), nullptr);
  // A read that fails changes nothing.
  policies.refresh("acct", []() -> Result<std::string> { return fail(ErrorCode::kStorageFailure); });
  EXPECT_NE(policies.rules_of("acct"), nullptr);
  policies.refresh("acct", []() -> Result<std::string> { return std::string(); });
  EXPECT_EQ(policies.rules_of("acct"), nullptr);
  EXPECT_FALSE(policies.any());
}

}  // namespace
}  // namespace tidemark::protocol
