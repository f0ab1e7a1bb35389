// Bearer tokens: the accepted ones, every way in which one is refused, and the rights of their roles.
#include "common/auth/token_check.h"
#include "tests/support/token_issuer.h"
#include "tests/unit/auth_support.h"

namespace tidemark::auth::testing {
namespace {

using nlohmann::json;
using tidemark::testing::base64url;
using tidemark::testing::key_set;
using tidemark::testing::TokenIssuer;
using Kind = TokenIssuer::Kind;

constexpr const char* kIssuer = "https://login.example.org/tenant/v2.0";
constexpr std::int64_t kNow = 1'767'225'600;  // sas_time()

/// Keys are slow to make, so all tests share them.
const TokenIssuer& rsa() {
  static const TokenIssuer issuer(Kind::kRsa, "rsa");
  return issuer;
}
const TokenIssuer& p256() {
  static const TokenIssuer issuer(Kind::kP256, "p256");
  return issuer;
}

json claims(const json& changes = json::object()) {
  json out{{"iss", kIssuer},     {"aud", "https://storage.azure.com"},    {"iat", kNow - 60},  {"nbf", kNow - 60},
           {"exp", kNow + 3600}, {"roles", {"Storage Blob Data Reader"}}, {"oid", "object-1"}, {"tid", "tenant-1"}};
  out.merge_patch(changes);  // null removes
  return out;
}

std::shared_ptr<TokenCheck> check_of(TokenRules rules = {kIssuer, {"https://storage.azure.com/"}}) {
  auto check = std::make_shared<TokenCheck>(std::move(rules));
  check->use(WebKeys::read(key_set({rsa().jwk(), p256().jwk()})).value());
  return check;
}

/// Returns the reason of the refusal; "accepted" if there is none.
std::string reason(const Result<Bearer>& checked) {
  if (checked) return "accepted";
  EXPECT_EQ(checked.error().code, ErrorCode::kBearerTokenInvalid);
  return checked.error().fields.empty() ? "" : checked.error().fields.front().second;
}
std::string reason(const std::string& token) { return reason(check_of()->check(token, Service::kBlob, sas_time())); }

TEST(Tokens, GoodOnesSayWhoTheBearerIs) {
  for (const auto* issuer : {&rsa(), &p256()}) {
    const auto bearer = check_of()->check(issuer->token(claims()), Service::kBlob, sas_time());
    ASSERT_TRUE(bearer) << reason(bearer);
    EXPECT_EQ(bearer->roles, kReader);
    EXPECT_EQ(bearer->object_id, "object-1");
    EXPECT_EQ(bearer->tenant_id, "tenant-1");
  }
}

TEST(Tokens, RolesAreThoseOfTheService) {
  const auto roles = [](const json& names, Service service) {
    return check_of()->check(rsa().token(claims({{"roles", names}})), service, sas_time()).value().roles;
  };
  const json many{"Storage Blob Data Owner", "storage-queue-data-message-sender", "StorageTableDataContributor",
                  "Admin", 7};
  EXPECT_EQ(roles(many, Service::kBlob), kOwner);
  EXPECT_EQ(roles(many, Service::kQueue), kMessageSender);
  EXPECT_EQ(roles(many, Service::kTable), kContributor);
  EXPECT_EQ(roles("Storage Blob Delegator", Service::kBlob), kDelegator);
  EXPECT_EQ(roles(nullptr, Service::kBlob), 0);
}

TEST(Tokens, TheWrongClaimsAreRefused) {
  const auto with = [](const json& changes) { return reason(rsa().token(claims(changes))); };
  const std::string audience = "Audience validation failed. Audience did not match.";
  const std::string issuer = "Issuer validation failed. Issuer did not match.";
  EXPECT_EQ(with({{"aud", "https://storage.azure.com/"}}), "accepted");
  EXPECT_EQ(with({{"aud", {"x", "https://storage.azure.com"}}}), "accepted");
  EXPECT_EQ(with({{"aud", "https://storage.azure.com.evil.example"}}), audience);
  EXPECT_EQ(with({{"aud", nullptr}}), audience);
  EXPECT_EQ(with({{"aud", 7}}), audience);
  EXPECT_EQ(with({{"iss", "https://login.example.org/tenant"}}), issuer);
  EXPECT_EQ(with({{"iss", nullptr}}), issuer);
  EXPECT_EQ(with({{"iss", {kIssuer}}}), issuer);
  EXPECT_EQ(with({{"oid", nullptr}}), "The token does not say who its bearer is (oid or sub).");
  EXPECT_EQ(with({{"oid", nullptr}, {"sub", "s"}}), "accepted");
}

TEST(Tokens, TimesHaveFiveMinutesOfSkew) {
  const auto with = [](const json& changes) { return reason(rsa().token(claims(changes))); };
  const std::string expired = "Lifetime validation failed. The token is expired.";
  const std::string early = "Lifetime validation failed. The token is not valid yet.";
  EXPECT_EQ(with({{"exp", kNow - 299}}), "accepted");
  EXPECT_EQ(with({{"exp", kNow - 300}}), expired);
  EXPECT_EQ(with({{"exp", 0}}), expired);
  EXPECT_EQ(with({{"exp", -1e300}}), expired);
  EXPECT_EQ(with({{"exp", nullptr}}), "Lifetime validation failed. The token has no expiry (exp).");
  EXPECT_EQ(with({{"exp", "never"}}), "Lifetime validation failed. exp is no time.");
  EXPECT_EQ(with({{"nbf", kNow + 300}}), "accepted");
  EXPECT_EQ(with({{"nbf", kNow + 301}}), early);
  EXPECT_EQ(with({{"iat", kNow + 301}}), early);
  EXPECT_EQ(with({{"nbf", nullptr}, {"iat", nullptr}}), "accepted");
}

TEST(Tokens, WhatTheIssuerHasNotSignedIsRefused) {
  const std::string refused = "Signature validation failed. The token is not signed by a key of the issuer.";
  const auto good = rsa().token(claims());
  const TokenIssuer stranger(Kind::kRsa, "rsa");
  EXPECT_EQ(reason(stranger.token(claims())), refused);
  EXPECT_EQ(reason(TokenIssuer(Kind::kP256, "p256").token(claims())), refused);
  // The claims of one token under the signature of another.
  const auto other = rsa().token(claims({{"roles", {"Storage Blob Data Owner"}}}));
  EXPECT_EQ(reason(other.substr(0, other.rfind('.')) + good.substr(good.rfind('.'))), refused);
  for (const std::size_t at : {good.find('.') + 5, good.rfind('.') + 9}) {
    auto changed = good;
    changed[at] = changed[at] == 'A' ? 'B' : 'A';
    EXPECT_NE(reason(changed), "accepted") << at;
  }
  EXPECT_EQ(reason(good.substr(0, good.rfind('.') + 1)), refused);
  EXPECT_EQ(reason(rsa().token({{"alg", "RS256"}}, claims())), refused) << "no kid, and two keys";
}

TEST(Tokens, AKeyIsForItsOwnAlgorithmAlone) {
  const std::string refused = "Signature validation failed. The token is not signed by a key of the issuer.";
  for (const auto* algorithm : {"none", "None", "HS256", "RS384", "PS256", "ES256", ""}) {
    EXPECT_EQ(reason(rsa().token({{"alg", algorithm}, {"kid", "rsa"}}, claims())), refused) << algorithm;
  }
  const auto unsigned_text = base64url(R"({"alg":"none","kid":"rsa"})") + "." + base64url(claims().dump());
  EXPECT_EQ(reason(unsigned_text + "."), refused);
  // A public key is no secret to sign with.
  const auto confused = base64url(R"({"alg":"HS256","kid":"rsa"})") + "." + base64url(claims().dump());
  for (const auto& secret : {rsa().jwk()["n"].get<std::string>(), rsa().jwk().dump()}) {
    EXPECT_EQ(reason(confused + "." + base64url(hmac_sha256(secret, confused))), refused);
  }
  EXPECT_EQ(reason(rsa().token({{"alg", "RS256"}, {"kid", "p256"}}, claims())), refused);
}

TEST(Tokens, MalformedOnesAreRefused) {
  const auto good = rsa().token(claims());
  const auto malformed = [](const std::string& text) { EXPECT_NE(reason(text), "accepted") << text; };
  for (const auto* text : {"", ".", "..", "...", "a.b", "a.b.c", "e30.e30.", "e30.e30.e30.e30", "W10.e30.AA"})
    malformed(text);
  malformed(good + ".");
  malformed(good + "=");
  malformed(" " + good);
  EXPECT_EQ(reason(std::string(kMaxTokenBytes + 1, 'a')), "The token is longer than 16 KiB.");
  EXPECT_EQ(reason(rsa().token({{"alg", 7}, {"kid", "rsa"}}, claims())), "The header of the token is malformed.");
  EXPECT_EQ(reason(rsa().token({{"alg", "RS256"}, {"kid", "rsa"}, {"crit", {"x"}}, {"x", 1}}, claims())),
            "The token needs extensions that are not known.");
  EXPECT_EQ(reason(rsa().token(json::array())), "The claims of the token are malformed.");
  const auto text =
      base64url(R"({"alg":"RS256","kid":"rsa"})") + "." + base64url(std::string(1000, '[') + std::string(1000, ']'));
  EXPECT_EQ(reason(text + "." + base64url(rsa().sign(text))), "The claims of the token are malformed.");
  const auto twice = base64url(R"({"alg":"RS256","kid":"rsa"})") + "." + base64url(R"({"iss":"a","iss":"b"})");
  EXPECT_EQ(reason(twice + "." + base64url(rsa().sign(twice))), "The claims of the token are malformed.");
}

TEST(Tokens, AnUnknownKeyIsAskedForAndRotates) {
  auto check = check_of();
  int asked = 0;
  bool will_come = true;
  check->when_unknown([&] { return ++asked, will_come; });
  const TokenIssuer next(Kind::kRsa, "next");
  const auto with_next = [&] { return check->check(next.token(claims()), Service::kBlob, sas_time()); };
  EXPECT_EQ(with_next().error().code, ErrorCode::kServerBusy) << "the client tries again";
  will_come = false;
  EXPECT_EQ(with_next().error().code, ErrorCode::kBearerTokenInvalid);
  EXPECT_EQ(asked, 2);
  check->use(WebKeys::read(key_set({next.jwk()})).value());
  EXPECT_TRUE(with_next());
  EXPECT_FALSE(check->check(rsa().token(claims()), Service::kBlob, sas_time())) << "its key is gone";
  EXPECT_EQ(asked, 3);
  const auto forged = next.token(claims());
  EXPECT_FALSE(check->check(forged.substr(0, forged.size() - 8) + "AAAAAAAA", Service::kBlob, sas_time()));
  EXPECT_EQ(asked, 3) << "a known key whose signature is wrong is nothing to ask for";
}

TEST(Tokens, WithoutAnyKeysClientsTryAgain) {
  TokenCheck check({kIssuer, {"https://storage.azure.com"}});
  const auto checked = [&] { return check.check(rsa().token(claims()), Service::kBlob, sas_time()); };
  for (const bool will_come : {true, false}) {
    check.when_unknown([=] { return will_come; });
    EXPECT_EQ(checked().error().code, ErrorCode::kServerBusy);
  }
  check.use(WebKeys::read(key_set({rsa().jwk()})).value());
  EXPECT_TRUE(checked());
}

TEST(Tokens, TheBasicCheckLeavesOutTheSignatureOnly) {
  const auto basic = check_of({kIssuer, {"https://storage.azure.com"}, "groups", false});
  const auto made = [&](const json& changes) {
    const auto text = base64url(R"({"alg":"none"})") + "." + base64url(claims(changes).dump()) + ".";
    return basic->check(text, Service::kBlob, sas_time());
  };
  EXPECT_EQ(made({{"groups", {"Storage Blob Data Owner"}}}).value().roles, kOwner);
  EXPECT_FALSE(made({{"aud", "x"}}));
  EXPECT_FALSE(made({{"iss", "x"}}));
  EXPECT_FALSE(made({{"exp", kNow - 3600}}));
}

TEST(Tokens, KeySetsAreReadStrictly) {
  const auto count = [](const std::string& text) {
    const auto keys = WebKeys::read(text);
    return keys ? static_cast<int>(keys->size()) : -1;
  };
  for (const auto* text : {"", "[]", "{}", R"({"keys":{}})", R"({"keys":[]})", R"({"keys":[7,{}]})"})
    EXPECT_EQ(count(text), -1);
  EXPECT_EQ(count(key_set({rsa().jwk(), {{"kty", "oct"}, {"k", "AAAA"}}})), 1);
  auto changed = [](json key, const char* name, const json& value) {
    key[name] = value;
    return key_set({key});
  };
  EXPECT_EQ(count(changed(rsa().jwk(), "use", "enc")), -1);
  EXPECT_EQ(count(changed(rsa().jwk(), "alg", "PS256")), -1);
  EXPECT_EQ(count(changed(rsa().jwk(), "n", "AQAB")), -1);
  EXPECT_EQ(count(changed(rsa().jwk(), "e", "")), -1);
  EXPECT_EQ(count(changed(p256().jwk(), "crv", "P-384")), -1);
  EXPECT_EQ(count(changed(p256().jwk(), "x", p256().jwk()["y"])), -1) << "not a point of the curve";
  EXPECT_EQ(count(key_set({TokenIssuer(Kind::kRsa, "short", 1024).jwk()})), -1);
  EXPECT_EQ(count(key_set(std::vector<json>(101, p256().jwk()))), -1);
  EXPECT_EQ(count(std::string((256UL << 10) + 1, ' ')), -1);
}

TEST(Tokens, TheChallengeNamesAuthorityAndAudience) {
  EXPECT_EQ(check_of()->challenge(),
            "Bearer authorization_uri=https://login.example.org/tenant/oauth2/authorize "
            "resource_id=https://storage.azure.com");
}

/// Makes whole requests with a token of these roles, and tells whether it may do this.
class Bearers : public ::testing::Test {
 protected:
  static Result<Identity> ask(Service service, const json& roles, bool tls = true, bool configured = true) {
    std::vector<std::pair<std::string_view, std::string_view>> headers;
    const auto header = "Bearer " + rsa().token(claims({{"roles", roles}}));
    headers.emplace_back("authorization", header);
    SignedRequest request;
    request.method = "GET";
    request.path = "/devstoreaccount1/c";
    request.headers = &headers;
    request.tls = tls;
    request.host = "127.0.0.1";
    Policy policy;
    if (configured) policy.tokens = check_of();
    const auto known = accounts();
    const auto resource = TRY(parse_resource(request.host, request.path, known));
    return authenticate(service, request, resource, known, sas_time(), policy, {});
  }
  static bool may(const Identity& who, ResourceType type, std::string_view letters) {
    const auto allowed = authorize(who, {type, letters, {}, false}, "c");
    if (!allowed) EXPECT_EQ(allowed.error().code, ErrorCode::kAuthorizationPermissionMismatch);
    return allowed.has_value();
  }
};

using enum ResourceType;

TEST_F(Bearers, OnlyOverHttpsAndOnlyWithAnIssuer) {
  EXPECT_TRUE(ask(Service::kBlob, {"Storage Blob Data Reader"}));
  for (const auto& refused : {ask(Service::kBlob, {"Storage Blob Data Reader"}, false),
                              ask(Service::kBlob, {"Storage Blob Data Reader"}, true, false)}) {
    EXPECT_EQ(code_of(refused), ErrorCode::kAuthenticationFailed);
  }
}

TEST_F(Bearers, RolesOfBlobs) {
  const auto reader = ask(Service::kBlob, {"Storage Blob Data Reader"}).value();
  EXPECT_TRUE(may(reader, kService, "l") && may(reader, kContainer, "r") && may(reader, kObject, "r"));
  EXPECT_FALSE(may(reader, kObject, "wc") || may(reader, kObject, "d") || may(reader, kContainer, "cw"));
  const auto writer = ask(Service::kBlob, {"Storage Blob Data Contributor"}).value();
  EXPECT_TRUE(may(writer, kObject, "wc") && may(writer, kObject, "d") && may(writer, kContainer, "d"));
  EXPECT_FALSE(may(writer, kObject, "t") || may(writer, kService, "r") || may(writer, kService, "f"));
  const auto owner = ask(Service::kBlob, {"Storage Blob Data Owner"}).value();
  EXPECT_TRUE(may(owner, kObject, "t") && may(owner, kService, "f"));
  EXPECT_FALSE(may(owner, kService, "w")) << "service properties are the account's";
  const auto nobody = ask(Service::kBlob, json::array()).value();
  EXPECT_FALSE(may(nobody, kObject, "r") || may(nobody, kService, "l") || may(nobody, kService, "k"));
  EXPECT_EQ(authorize(owner, {kContainer, {}, {}, false, false}, "c").error().code,
            ErrorCode::kAuthorizationPermissionMismatch)
      << "ACL";
}

TEST_F(Bearers, RolesOfQueuesAndTables) {
  const auto sender = ask(Service::kQueue, {"Storage Queue Data Message Sender"}).value();
  EXPECT_TRUE(may(sender, kObject, "a"));
  EXPECT_FALSE(may(sender, kObject, "r") || may(sender, kObject, "p") || may(sender, kService, "l"));
  const auto processor = ask(Service::kQueue, {"Storage Queue Data Message Processor"}).value();
  EXPECT_TRUE(may(processor, kObject, "r") && may(processor, kObject, "p"));
  EXPECT_FALSE(may(processor, kObject, "a") || may(processor, kObject, "u"));
  const auto reader = ask(Service::kTable, {"Storage Table Data Reader"}).value();
  EXPECT_TRUE(may(reader, kContainer, "l") && may(reader, kObject, "r"));
  const auto writer = ask(Service::kTable, {"Storage Table Data Contributor"}).value();
  EXPECT_TRUE(authorize(writer, {kObject, {}, "au"}, "c"));
  EXPECT_FALSE(authorize(reader, {kObject, {}, "au"}, "c"));
  EXPECT_FALSE(may(ask(Service::kTable, {"Storage Blob Data Owner"}).value(), kObject, "r"));
}

}  // namespace
}  // namespace tidemark::auth::testing
