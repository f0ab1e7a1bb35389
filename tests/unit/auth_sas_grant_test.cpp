// Signatures that are made here are accepted here, for the rights that they grant and nothing else.
#include "common/auth/sas_grant.h"
#include "tests/unit/auth_support.h"

namespace tidemark::auth::testing {
namespace {

SasGrant grant_of(const std::string& resource, const std::string& permissions) {
  SasGrant grant;
  grant.resource = resource;
  grant.permissions = permissions;
  grant.start = sas_time() - std::chrono::minutes(5);
  grant.expiry = sas_time() + std::chrono::hours(1);
  return grant;
}

Result<Identity> use(Service service, const std::string& path, const SasGrant& grant,
                     std::string remote = "127.0.0.1") {
  Call call;
  call.service = service;
  call.path = "/devstoreaccount1" + path;
  call.query = sign_grant(service, development_account(), grant);
  call.remote = std::move(remote);
  return run(call, sas_time());
}

TEST(SasGrant, OfATableHasItsKeys) {
  auto grant = grant_of("People", "ra");
  grant.start_pk = "a&b=c";
  grant.start_rk = "1";
  grant.end_pk = "z";
  const auto identity = use(Service::kTable, "/People()", grant);
  ASSERT_TRUE(identity.has_value()) << identity.error().fields[0].second;
  EXPECT_EQ(identity->resource, "people");
  EXPECT_EQ(identity->permissions, "ra");
  EXPECT_EQ(identity->start_pk, "a&b=c");
  EXPECT_EQ(identity->start_rk, "1");
  EXPECT_EQ(identity->end_pk, "z");
  EXPECT_FALSE(identity->end_rk.has_value());
}

TEST(SasGrant, OfAQueueAContainerAndABlob) {
  EXPECT_EQ(use(Service::kQueue, "/jobs/messages", grant_of("jobs", "p"))->resource, "jobs");
  EXPECT_EQ(use(Service::kBlob, "/pictures/a", grant_of("pictures", "rl"))->resource, "pictures");
  EXPECT_EQ(use(Service::kBlob, "/pictures/a%20b", grant_of("pictures/a b", "r"))->resource, "pictures/a b");
  for (const std::string path : {"/pictures/a/b", "/pictures/a%5Cb"}) {
    EXPECT_EQ(use(Service::kBlob, path, grant_of("pictures/a\\b", "r"))->resource, "pictures/a/b") << path;
  }
  EXPECT_EQ(code_of(use(Service::kBlob, "/pictures/other", grant_of("pictures/a b", "r"))),
            ErrorCode::kAuthenticationFailed);
  EXPECT_EQ(code_of(use(Service::kQueue, "/others/messages", grant_of("jobs", "p"))), ErrorCode::kAuthenticationFailed);
}

TEST(SasGrant, OfAnAccount) {
  auto grant = grant_of("", "rwdl");
  grant.services = "tq";
  grant.resource_types = "sco";
  EXPECT_EQ(use(Service::kTable, "/Tables", grant)->services, "tq");
  EXPECT_EQ(use(Service::kQueue, "/", grant)->scheme, Scheme::kAccountSas);
  EXPECT_EQ(code_of(use(Service::kBlob, "/", grant)), ErrorCode::kAuthorizationServiceMismatch);
}

TEST(SasGrant, HoldsOnlyFromWhereAndWhenItSays) {
  auto grant = grant_of("jobs", "p");
  grant.addresses = "10.0.0.1-10.0.0.9";
  EXPECT_TRUE(use(Service::kQueue, "/jobs", grant, "10.0.0.5").has_value());
  EXPECT_EQ(code_of(use(Service::kQueue, "/jobs", grant)), ErrorCode::kAuthorizationSourceIPMismatch);
  grant = grant_of("jobs", "p");
  grant.protocol = "https";
  EXPECT_EQ(code_of(use(Service::kQueue, "/jobs", grant)), ErrorCode::kAuthorizationProtocolMismatch);
  grant = grant_of("jobs", "p");
  grant.start = sas_time() + std::chrono::minutes(1);
  EXPECT_EQ(code_of(use(Service::kQueue, "/jobs", grant)), ErrorCode::kAuthenticationFailed);
}

TEST(SasGrant, ThatIsSenselessIsRefused) {
  constexpr Duration kDay = std::chrono::hours(24);
  const auto check = [&](Service service, const SasGrant& grant) {
    return check_grant(service, grant, sas_time(), kDay).has_value();
  };
  const auto changed = [](auto change) {
    auto grant = grant_of("jobs", "p");
    change(grant);
    return grant;
  };
  EXPECT_TRUE(check(Service::kQueue, grant_of("jobs", "p")));
  EXPECT_TRUE(check(Service::kTable, grant_of("People", "raud")));
  EXPECT_TRUE(check(Service::kBlob, grant_of("pictures/a/b", "r")));
  EXPECT_FALSE(check(Service::kQueue, grant_of("jobs", "d")));
  EXPECT_FALSE(check(Service::kQueue, grant_of("jobs", "pp")));
  EXPECT_FALSE(check(Service::kQueue, grant_of("jobs", "")));
  EXPECT_FALSE(check(Service::kQueue, grant_of("", "p")));
  EXPECT_FALSE(check(Service::kQueue, grant_of("jobs/x", "p")));
  EXPECT_FALSE(check(Service::kQueue, grant_of("jobs\n", "p")));
  EXPECT_FALSE(check(Service::kBlob, grant_of("/a", "r")));
  EXPECT_FALSE(check(Service::kBlob, grant_of("a/", "r")));
  EXPECT_FALSE(check(Service::kQueue, changed([](auto& grant) { grant.expiry = sas_time(); })));
  EXPECT_FALSE(check(Service::kQueue, changed([](auto& grant) { grant.expiry += std::chrono::hours(24); })));
  EXPECT_FALSE(check(Service::kQueue, changed([](auto& grant) { grant.start = grant.expiry; })));
  EXPECT_FALSE(check(Service::kQueue, changed([](auto& grant) { grant.addresses = "::1"; })));
  EXPECT_FALSE(check(Service::kQueue, changed([](auto& grant) { grant.protocol = "http"; })));
  EXPECT_FALSE(check(Service::kQueue, changed([](auto& grant) { grant.start_pk = "a"; })));
  EXPECT_FALSE(check(Service::kQueue, changed([](auto& grant) { grant.services = "q"; })));
}

}  // namespace
}  // namespace tidemark::auth::testing
