// The public keys of a token issuer, a JSON Web Key Set (RFC 7517): RSA keys of 2048 bits and more for RS256, P-256
// keys for ES256. A key is used for its own algorithm alone, regardless of the token, so that neither "none" nor an
// HMAC with a public key can pass. Pure.
#pragma once
#include <openssl/types.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/auth/web_token.h"

namespace tidemark::auth {

class WebKeys {
 public:
  /// Skips keys of other kinds, and those for uses other than signatures. kConfigInvalid if the text is not a key set,
  /// or none of its keys can be used.
  static Result<WebKeys> read(std::string_view text);
  /// Tells whether there is a key for the token. A token that names no key needs a set of exactly one key.
  [[nodiscard]] bool knows(const WebToken& token) const { return key_of(token) != nullptr; }
  [[nodiscard]] bool signed_by_one(const WebToken& token) const;
  [[nodiscard]] std::size_t size() const { return keys_.size(); }

 private:
  struct Key {
    std::string id;
    std::string_view algorithm;
    std::shared_ptr<EVP_PKEY> key;
  };
  [[nodiscard]] const Key* key_of(const WebToken& token) const;
  static std::optional<Key> read_key(const nlohmann::json& text);

  std::vector<Key> keys_;
};

}  // namespace tidemark::auth
