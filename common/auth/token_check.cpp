#include "common/auth/token_check.h"

#include <algorithm>
#include <cmath>

namespace tidemark::auth {
namespace {

constexpr double kSkewS = 300;

std::string text_claim(const nlohmann::json& claims, const char* name) {
  const auto found = claims.find(name);
  return found != claims.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// Reads a claim that is a text, or a list of texts.
std::vector<std::string> texts_claim(const nlohmann::json& claims, const std::string& name) {
  const auto found = claims.find(name);
  if (found == claims.end()) return {};
  if (found->is_string()) return {found->get<std::string>()};
  std::vector<std::string> texts;
  if (!found->is_array()) return texts;
  for (const auto& each : *found) {
    if (each.is_string()) texts.push_back(each.get<std::string>());
  }
  return texts;
}

std::string_view without_slash(std::string_view url) {
  if (url.ends_with('/')) url.remove_suffix(1);
  return url;
}

/// Returns seconds since 1970; nothing if the claim is absent. kBearerTokenInvalid if it is not a time.
Result<std::optional<double>> time_claim(const nlohmann::json& claims, const char* name) {
  const auto found = claims.find(name);
  if (found == claims.end()) return std::optional<double>();
  if (!found->is_number())
    return fail(token_invalid("Lifetime validation failed. " + std::string(name) + " is no time."));
  return std::optional(found->get<double>());
}

Result<void> check_times(const nlohmann::json& claims, Time now) {
  const auto seconds = std::chrono::duration<double>(now.time_since_epoch()).count();
  const auto expires = TRY(time_claim(claims, "exp"));
  const auto begins = TRY(time_claim(claims, "nbf"));
  const auto issued = TRY(time_claim(claims, "iat"));
  if (!expires) return fail(token_invalid("Lifetime validation failed. The token has no expiry (exp)."));
  if (seconds >= *expires + kSkewS) return fail(token_invalid("Lifetime validation failed. The token is expired."));
  if (begins.value_or(0) > seconds + kSkewS || issued.value_or(0) > seconds + kSkewS) {
    return fail(token_invalid("Lifetime validation failed. The token is not valid yet."));
  }
  return {};
}

}  // namespace

Result<Bearer> TokenCheck::check(std::string_view text, Service service, Time now) const {
  const auto token = TRY(read_web_token(text));
  if (rules_.check_signature) TRY(check_signature(token));
  const auto& claims = token.claims;
  if (text_claim(claims, "iss") != rules_.issuer) {
    return fail(token_invalid("Issuer validation failed. Issuer did not match."));
  }
  const auto accepted = [&](const std::string& audience) {
    return std::ranges::any_of(rules_.audiences,
                               [&](const auto& ours) { return without_slash(ours) == without_slash(audience); });
  };
  if (!std::ranges::any_of(texts_claim(claims, "aud"), accepted)) {
    return fail(token_invalid("Audience validation failed. Audience did not match."));
  }
  TRY(check_times(claims, now));
  Bearer bearer;
  bearer.roles = roles_of(service, texts_claim(claims, rules_.role_claim));
  bearer.object_id = text_claim(claims, claims.contains("oid") ? "oid" : "sub");
  bearer.tenant_id = text_claim(claims, "tid");
  if (bearer.object_id.empty()) return fail(token_invalid("The token does not say who its bearer is (oid or sub)."));
  return bearer;
}

Result<void> TokenCheck::check_signature(const WebToken& token) const {
  std::shared_ptr<const WebKeys> keys;
  {
    const MutexLock lock(mutex_);
    keys = keys_;
  }
  if (keys && keys->signed_by_one(token)) return {};
  const bool fetching = (!keys || !keys->knows(token)) && want_keys_ && want_keys_();
  if (fetching || !keys) {
    return fail(error_for_log(ErrorCode::kServerBusy, "the keys of the token issuer are being fetched"));
  }
  return fail(token_invalid("Signature validation failed. The token is not signed by a key of the issuer."));
}

std::string TokenCheck::challenge() const {
  // The name of a version 2 issuer ends in the version; clients want the part in front of it.
  auto authority = without_slash(rules_.issuer);
  if (authority.ends_with("/v2.0")) authority.remove_suffix(std::string_view("/v2.0").size());
  return "Bearer authorization_uri=" + std::string(authority) +
         "/oauth2/authorize resource_id=" + std::string(without_slash(rules_.audiences.front()));
}

void TokenCheck::use(WebKeys keys) {
  auto fresh = std::make_shared<const WebKeys>(std::move(keys));
  const MutexLock lock(mutex_);
  keys_ = std::move(fresh);
}

}  // namespace tidemark::auth
