// Decides which bearer tokens are accepted: those that one issuer has signed for this audience, while they are valid.
// Returns the identity of the bearer and its roles. Thread safe.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/auth/roles.h"
#include "common/auth/web_keys.h"
#include "common/base/mutex.h"

namespace tidemark::auth {

struct TokenRules {
  std::string issuer;                  // iss, exactly
  std::vector<std::string> audiences;  // aud must be one of them; a '/' at the end does not count
  std::string role_claim = "roles";
  bool check_signature = true;  // false: only in tests
};

struct Bearer {
  Roles roles = 0;
  std::string object_id, tenant_id;
};

class TokenCheck {
 public:
  explicit TokenCheck(TokenRules rules) : rules_(std::move(rules)) {}
  /// kBearerTokenInvalid; kServerBusy if the issuer's keys are being fetched because of it, or were never read.
  Result<Bearer> check(std::string_view text, Service service, Time now) const;
  /// Returns the value of WWW-Authenticate for a caller without a token, or with a wrong one.
  [[nodiscard]] std::string challenge() const;
  void use(WebKeys keys);
  /// Sets the function that is called, on an I/O thread, for tokens that name an unknown key. It returns true if the
  /// keys are being fetched now. Must be set before the first check.
  void when_unknown(std::function<bool()> want_keys) { want_keys_ = std::move(want_keys); }

 private:
  [[nodiscard]] Result<void> check_signature(const WebToken& token) const;

  const TokenRules rules_;
  std::function<bool()> want_keys_;
  mutable Mutex mutex_;
  std::shared_ptr<const WebKeys> keys_ GUARDED_BY(mutex_);
};

}  // namespace tidemark::auth
