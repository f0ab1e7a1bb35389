#include "tests/unit/auth_support.h"

namespace tidemark::auth::testing {
namespace {

Identity account_sas(std::string permissions, std::string types) {
  Identity identity;
  identity.scheme = Scheme::kAccountSas;
  identity.permissions = std::move(permissions);
  identity.resource_types = std::move(types);
  return identity;
}

Identity service_sas(std::string permissions, std::string resource) {
  Identity identity;
  identity.scheme = Scheme::kServiceSas;
  identity.permissions = std::move(permissions);
  identity.resource = std::move(resource);
  return identity;
}

const Need kRead{.type = ResourceType::kObject, .any_of = "r"};

TEST(Access, AKeyMayDoEverythingAndNobodyNothing) {
  Identity key;
  key.scheme = Scheme::kSharedKey;
  EXPECT_TRUE(authorize(key, {.type = ResourceType::kService, .any_of = "", .any_sas = false}, "").has_value());
  EXPECT_TRUE(authorize(Identity{}, kRead, "t").failed_with(ErrorCode::kNoAuthenticationInformation));
}

TEST(Access, AnAccountTokenNeedsTheResourceTypeAndALetter) {
  EXPECT_TRUE(authorize(account_sas("r", "o"), kRead, "t").has_value());
  EXPECT_TRUE(authorize(account_sas("r", "sc"), kRead, "t").failed_with(ErrorCode::kAuthorizationResourceTypeMismatch));
  EXPECT_TRUE(authorize(account_sas("wl", "o"), kRead, "t").failed_with(ErrorCode::kAuthorizationPermissionMismatch));
  const Need create{.type = ResourceType::kContainer, .any_of = "cw"};
  EXPECT_TRUE(authorize(account_sas("w", "c"), create, "t").has_value());
  const Need upsert{.type = ResourceType::kObject, .any_of = "", .all_of = "au"};
  EXPECT_TRUE(authorize(account_sas("au", "o"), upsert, "t").has_value());
  EXPECT_TRUE(authorize(account_sas("u", "o"), upsert, "t").failed_with(ErrorCode::kAuthorizationPermissionMismatch));
  const Need acl{.type = ResourceType::kContainer, .any_of = "rw", .any_sas = false};
  EXPECT_TRUE(authorize(account_sas("rw", "sco"), acl, "t").failed_with(ErrorCode::kAuthorizationFailure));
}

TEST(Access, AServiceTokenCoversOneResource) {
  EXPECT_TRUE(authorize(service_sas("r", "sampletable"), kRead, "SampleTable").has_value());
  EXPECT_TRUE(authorize(service_sas("r", "c"), kRead, "c/dir/blob").has_value());
  EXPECT_TRUE(authorize(service_sas("r", "c/dir/b"), kRead, "c/dir/b").has_value());
  for (const char* name : {"c", "c/dir/B", "c/dir", "c/dir/b/x", "c2/dir/b", ""}) {
    EXPECT_TRUE(authorize(service_sas("r", "c/dir/b"), kRead, name).failed_with(ErrorCode::kAuthorizationFailure));
  }
  EXPECT_TRUE(authorize(service_sas("r", "jobs"), kRead, "jobs2").failed_with(ErrorCode::kAuthorizationFailure));
  EXPECT_TRUE(authorize(service_sas("r", ""), kRead, "").failed_with(ErrorCode::kAuthorizationFailure));
  EXPECT_TRUE(authorize(service_sas("a", "c"), kRead, "c").failed_with(ErrorCode::kAuthorizationPermissionMismatch));
  const Need never{.type = ResourceType::kObject, .any_of = "d", .service_sas = false};
  EXPECT_TRUE(authorize(service_sas("d", "jobs"), never, "jobs").failed_with(ErrorCode::kAuthorizationFailure));
}

}  // namespace
}  // namespace tidemark::auth::testing
