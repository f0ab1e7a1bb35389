// The rights of a web page that uses the development key, which it can know.
#include <gtest/gtest.h>

#include "common/service/page_guard.h"

namespace tidemark::service {
namespace {

const std::vector<auth::Account> kAccounts = {auth::development_account(),
                                              {"own", {"a key of one's own, which no page knows"}}};
const std::string kKnown = auth::development_account().name;

TEST(PageGuard, KnowsWhichNamesNobodyElseCanHave) {
  const PageGuard guard(kAccounts, "store.example.org, other.test");
  for (const auto* host :
       {"", "localhost", "localhost:10000", "127.0.0.1:10000", "192.168.1.7", "[::1]:10000", "[fd00::7]", "store:10000",
        "devstoreaccount1.blob.localhost:10000", "host.docker.internal", "STORE.example.org:80", "other.test"}) {
    EXPECT_TRUE(guard.check_host(kKnown, host)) << host;
  }
  for (const auto* host : {"evil.example", "evil.example:10000", "localhost.evil.example", "127.0.0.1.evil.example",
                           "localhost.", ".localhost", "x.store.example.org", "evil.localhost.example"}) {
    EXPECT_TRUE(guard.check_host(kKnown, host).failed_with(ErrorCode::kAuthorizationFailure)) << host;
    EXPECT_TRUE(guard.check_host("own", host)) << host;
    EXPECT_TRUE(PageGuard().check_host(kKnown, host)) << host;
  }
}

TEST(PageGuard, KnowsWhetherAPageAsks) {
  const PageGuard guard(kAccounts, "");
  const protocol::CorsPolicies no_rules;
  const auto sent = [&](const std::string& account, std::string_view name, std::string_view value) {
    http::Request request;
    request.method = "POST";
    request.headers = {{"Host", "127.0.0.1:10001"}};
    if (!name.empty()) request.headers.emplace_back(name, value);
    return guard.check_source(account, request, no_rules).has_value();
  };
  EXPECT_TRUE(sent(kKnown, "", ""));
  EXPECT_TRUE(sent(kKnown, "Origin", "http://127.0.0.1:10001"));
  EXPECT_TRUE(sent(kKnown, "Sec-Fetch-Site", "none"));
  EXPECT_TRUE(sent(kKnown, "Sec-Fetch-Site", "same-origin"));
  for (const auto* origin : {"http://127.0.0.1:10002", "http://evil.example", "null", "", "127.0.0.1:10001"}) {
    EXPECT_FALSE(sent(kKnown, "Origin", origin)) << origin;
    EXPECT_TRUE(sent("own", "Origin", origin)) << origin;
  }
  EXPECT_FALSE(sent(kKnown, "Sec-Fetch-Site", "cross-site"));
  EXPECT_FALSE(sent(kKnown, "Sec-Fetch-Site", "same-site"));
}

}  // namespace
}  // namespace tidemark::service
