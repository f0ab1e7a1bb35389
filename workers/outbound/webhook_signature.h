// Signatures of callbacks according to Standard Webhooks (standardwebhooks.com, specification 1.0): HMAC-SHA256 over
// "id.timestamp.body", written "v1,BASE64". While a secret is being replaced there are several, separated by spaces. A
// secret is "whsec_" and 24 to 64 bytes in Base64. Pure.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "common/base/time.h"

namespace tidemark::workers {

/// Keys by name. If a name has two keys, both sign: first the new key is added, then the receivers change, then the old
/// key is removed.
class SigningSecrets {
 public:
  /// "whsec_A" or "NAME=whsec_A,NAME=whsec_B"; the name is "default" if absent. kConfigInvalid, without showing
  /// secrets.
  static Result<SigningSecrets> parse(std::string_view text);
  [[nodiscard]] bool empty() const { return keys_.empty(); }
  /// Null if there is no such name.
  [[nodiscard]] const std::vector<std::string>* find(const std::string& name) const;

 private:
  std::map<std::string, std::vector<std::string>> keys_;
};

/// Seconds since 1970.
std::string webhook_timestamp(Time now);
/// The value of the header webhook-signature.
std::string webhook_signature(const std::vector<std::string>& keys, std::string_view id, std::string_view timestamp,
                              std::string_view body);

}  // namespace tidemark::workers
