#include "common/auth/authenticator.h"

#include <algorithm>

#include "common/auth/sas.h"
#include "common/auth/shared_key.h"
#include "common/auth/signature.h"
#include "common/base/encoding.h"
#include "common/base/text.h"

namespace tidemark::auth {
namespace {

// Nothing if there is none; two of them are refused, since a proxy may have looked at the other one.
Result<std::optional<std::string_view>> authorization_header(const SignedRequest& request) {
  std::optional<std::string_view> found;
  for (const auto& [name, value] : *request.headers) {
    if (!iequals_ascii(name, "authorization")) continue;
    if (found) return fail(ErrorCode::kInvalidAuthenticationInfo);
    found = value;
  }
  return found;
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
    if (value.starts_with("Bearer ")) {
      return fail(authentication_failed("Bearer is not allowed with HTTP. Use the account key or a SAS."));
    }
    return fail(ErrorCode::kInvalidAuthenticationInfo);
  }
  auto fields = TRY(parse_sas(*request.parameters));
  if (!fields.sig.empty()) {
    const bool https = arrived_by_https(*request.headers, policy);
    return verify_sas(service, request, resource, *account, fields, now, https, find_policy);
  }
  if (!policy.allow_anonymous) return fail(ErrorCode::kNoAuthenticationInformation);
  Identity identity;
  identity.account = resource.account;
  return identity;
}

/// x-ms-version, which a SAS may leave to its sv.
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

bool arrived_by_https(const std::vector<std::pair<std::string_view, std::string_view>>& headers, const Policy& policy) {
  if (!policy.trust_forwarded_proto) return false;
  std::optional<std::string_view> found;
  for (const auto& [name, value] : headers) {
    if (!iequals_ascii(name, "x-forwarded-proto")) continue;
    // A second one was not written by the terminator, or not by it alone.
    if (found) return false;
    found = value;
  }
  return found && iequals_ascii(*found, "https");
}

Result<Identity> authenticate(Service service, const SignedRequest& request, const Resource& resource,
                              const std::vector<Account>& accounts, Time now, const Policy& policy,
                              const PolicyLookup& find_policy) {
  if (request.parameters == nullptr) {
    // Whether or not a token is there, a query that cannot be decoded cannot be served.
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
