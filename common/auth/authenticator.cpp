#include "common/auth/authenticator.h"

#include <algorithm>

#include "common/auth/sas.h"
#include "common/auth/shared_key.h"
#include "common/auth/signature.h"
#include "common/auth/token_check.h"
#include "common/base/encoding.h"
#include "common/base/text.h"

namespace tidemark::auth {
namespace {

// Nothing if the header is absent. Two of them are refused, since a proxy may have looked at the other one.
Result<std::optional<std::string_view>> authorization_header(const SignedRequest& request) {
  std::optional<std::string_view> found;
  for (const auto& [name, value] : *request.headers) {
    if (!iequals_ascii(name, "authorization")) continue;
    if (found) return fail(ErrorCode::kInvalidAuthenticationInfo);
    found = value;
  }
  return found;
}

Result<Identity> verify_bearer(Service service, const SignedRequest& request, const Account& account,
                               std::string_view token, Time now, const Policy& policy) {
  if (!request.tls) {
    return fail(authentication_failed("Authentication scheme Bearer is not allowed with HTTP. Use HTTPS."));
  }
  if (!policy.tokens) {
    return fail(authentication_failed(
        "Authentication scheme Bearer is not supported: no token issuer is configured. Use the account key or a SAS."));
  }
  auto bearer = TRY(policy.tokens->check(token, service, now));
  Identity identity;
  identity.scheme = Scheme::kBearer;
  identity.account = account.name;
  identity.service = service;
  identity.roles = bearer.roles;
  identity.object_id = std::move(bearer.object_id);
  identity.tenant_id = std::move(bearer.tenant_id);
  return identity;
}

Result<Identity> identify(Service service, const SignedRequest& request, const Resource& resource,
                          const std::vector<Account>& accounts, Time now, const Policy& policy,
                          const PolicyLookup& find_policy) {
  const auto account = std::ranges::find(accounts, resource.account, &Account::name);
  if (account == accounts.end()) return fail(authentication_failed("The account of the URL does not exist."));
  auto header = TRY(authorization_header(request));
  if (header) {
    const std::string_view value = *header;
    if (value.starts_with("SharedKey ") || value.starts_with("SharedKeyLite ")) {
      return verify_shared_key(service, request, resource, *account, value, now, policy);
    }
    constexpr std::string_view kBearer = "Bearer ";
    if (value.starts_with(kBearer)) {
      return verify_bearer(service, request, *account, value.substr(kBearer.size()), now, policy);
    }
    return fail(ErrorCode::kInvalidAuthenticationInfo);
  }
  auto fields = TRY(parse_sas(*request.parameters));
  if (!fields.sig.empty()) {
    return verify_sas(service, request, resource, *account, fields, now, request.tls, find_policy);
  }
  if (!policy.allow_anonymous) return fail(ErrorCode::kNoAuthenticationInformation);
  Identity identity;
  identity.account = resource.account;
  return identity;
}

/// Takes the version from x-ms-version. Without that header, the sv of a SAS stays.
Result<void> settle_version(const SignedRequest& request, Identity& identity) {
  for (const auto& [name, value] : *request.headers) {
    if (value.empty() || !iequals_ascii(name, "x-ms-version")) continue;
    if (is_version(value)) {
      identity.version = value;
      return {};
    }
    auto error = make_error(ErrorCode::kInvalidHeaderValue);
    error.fields = {{"HeaderName", "x-ms-version"}, {"HeaderValue", std::string(value)}};
    return fail(std::move(error));
  }
  return {};
}

}  // namespace

Result<Identity> authenticate(Service service, const SignedRequest& request, const Resource& resource,
                              const std::vector<Account>& accounts, Time now, const Policy& policy,
                              const PolicyLookup& find_policy) {
  if (request.parameters == nullptr) {
    // A query that cannot be decoded cannot be served, whether or not it has a token.
    const auto decoded = QueryParameters::parse(request.query);
    if (!decoded) return fail(authentication_failed("The query of the URL has a broken percent escape."));
    auto complete = request;
    complete.parameters = &*decoded;
    return authenticate(service, complete, resource, accounts, now, policy, find_policy);
  }
  auto identity = TRY(identify(service, request, resource, accounts, now, policy, find_policy));
  TRY(settle_version(request, identity));
  return identity;
}

}  // namespace tidemark::auth
