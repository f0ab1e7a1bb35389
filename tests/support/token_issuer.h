// An issuer of bearer tokens for tests: its own keys, their JWKs, and JSON Web Tokens that it signs. Written from RFC
// 7515 to 7518 alone.
#pragma once
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/base/encoding.h"

namespace tidemark::testing {

inline std::string base64url(std::string_view bytes) {
  auto text = base64_encode(bytes);
  std::erase(text, '=');
  std::ranges::replace(text, '+', '-');
  std::ranges::replace(text, '/', '_');
  return text;
}

class TokenIssuer {
 public:
  enum class Kind { kRsa, kP256 };
  TokenIssuer(Kind kind, std::string key_id, unsigned bits = 2048)
      : kind_(kind),
        key_id_(std::move(key_id)),
        key_(kind == Kind::kRsa ? EVP_RSA_gen(bits) : EVP_EC_gen("P-256"), &EVP_PKEY_free) {}

  [[nodiscard]] std::string algorithm() const { return kind_ == Kind::kRsa ? "RS256" : "ES256"; }
  [[nodiscard]] nlohmann::json jwk() const {
    if (kind_ == Kind::kRsa) {
      return {{"kty", "RSA"},
              {"kid", key_id_},
              {"use", "sig"},
              {"n", number(OSSL_PKEY_PARAM_RSA_N)},
              {"e", number(OSSL_PKEY_PARAM_RSA_E)}};
    }
    return {{"kty", "EC"},
            {"kid", key_id_},
            {"crv", "P-256"},
            {"x", number(OSSL_PKEY_PARAM_EC_PUB_X, 32)},
            {"y", number(OSSL_PKEY_PARAM_EC_PUB_Y, 32)}};
  }
  [[nodiscard]] std::string token(const nlohmann::json& claims) const {
    return token({{"alg", algorithm()}, {"typ", "JWT"}, {"kid", key_id_}}, claims);
  }
  [[nodiscard]] std::string token(const nlohmann::json& header, const nlohmann::json& claims) const {
    const auto text = base64url(header.dump()) + "." + base64url(claims.dump());
    return text + "." + base64url(sign(text));
  }
  [[nodiscard]] std::string sign(const std::string& text) const {
    const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
    const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
    std::size_t size = 0;
    EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key_.get());
    EVP_DigestSign(context.get(), nullptr, &size, bytes, text.size());
    std::string signature(size, '\0');
    EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size, bytes, text.size());
    signature.resize(size);
    return kind_ == Kind::kRsa ? signature : side_by_side(signature);
  }

 private:
  static std::string bytes_of(const BIGNUM* value, int size) {
    std::string bytes(static_cast<std::size_t>(size), '\0');
    BN_bn2binpad(value, reinterpret_cast<unsigned char*>(bytes.data()), size);
    return bytes;
  }
  [[nodiscard]] std::string number(const char* name, int size = 0) const {
    BIGNUM* value = nullptr;
    EVP_PKEY_get_bn_param(key_.get(), name, &value);
    const auto bytes = bytes_of(value, size != 0 ? size : BN_num_bytes(value));
    BN_free(value);
    return base64url(bytes);
  }
  static std::string side_by_side(const std::string& der) {
    const auto* at = reinterpret_cast<const unsigned char*>(der.data());
    const std::unique_ptr<ECDSA_SIG, decltype(&ECDSA_SIG_free)> pair(
        d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(der.size())), &ECDSA_SIG_free);
    return bytes_of(ECDSA_SIG_get0_r(pair.get()), 32) + bytes_of(ECDSA_SIG_get0_s(pair.get()), 32);
  }

  Kind kind_;
  std::string key_id_;
  std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key_;
};

inline std::string key_set(const std::vector<nlohmann::json>& keys) { return nlohmann::json{{"keys", keys}}.dump(); }

}  // namespace tidemark::testing
