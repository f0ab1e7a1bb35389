// Signatures of callbacks as Standard Webhooks (standardwebhooks.com, specification 1.0) has them: HMAC-SHA256 over
// "id.timestamp.body", written "v1,BASE64"; several, parted by blanks, while a secret is being replaced. A secret is
// "whsec_" and 24 to 64 bytes in Base64. Pure.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "common/base/time.h"

namespace tidemark::workers {

/// Keys by name. A name that stands there twice signs with both: the new one first, then receivers change, then the old
/// one goes.
class SigningSecrets {
 public:
  /// "whsec_A" or "NAME=whsec_A,NAME=whsec_B": without a name it is "default". kConfigInvalid, which shows no secret.
  static Result<SigningSecrets> parse(std::string_view text);
  [[nodiscard]] bool empty() const { return keys_.empty(); }
  /// Null if there is no such name.
  [[nodiscard]] const std::vector<std::string>* find(const std::string& name) const;

 private:
  std::map<std::string, std::vector<std::string>> keys_;
};

/// Seconds since 1970.
std::string webhook_timestamp(Time now);
/// The value of header webhook-signature.
std::string webhook_signature(const std::vector<std::string>& keys, std::string_view id, std::string_view timestamp,
                              std::string_view body);

}  // namespace tidemark::workers
