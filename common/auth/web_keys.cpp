#include "common/auth/web_keys.h"

#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>

#include <algorithm>

namespace tidemark::auth {
namespace {

constexpr std::size_t kMaxSetBytes = 256UL << 10;
constexpr std::size_t kMaxKeys = 100;
constexpr std::size_t kMinModulusBytes = 256, kMaxModulusBytes = 1024, kMaxExponentBytes = 8;
constexpr std::size_t kCoordinateBytes = 32;
constexpr std::string_view kRs256 = "RS256", kEs256 = "ES256";

template <auto Free>
struct Freed {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};
template <class T, auto Free>
using Owned = std::unique_ptr<T, Freed<Free>>;
using Number = Owned<BIGNUM, BN_free>;

std::string_view text_of(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? std::string_view(found->get_ref<const std::string&>())
                                                     : std::string_view();
}

const unsigned char* bytes_of(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

Number number_of(std::string_view bytes) {
  return Number(BN_bin2bn(bytes_of(bytes), static_cast<int>(bytes.size()), nullptr));
}

std::shared_ptr<EVP_PKEY> make_key(const char* kind, OSSL_PARAM_BLD* parts) {
  const Owned<OSSL_PARAM, OSSL_PARAM_free> parameters(OSSL_PARAM_BLD_to_param(parts));
  const Owned<EVP_PKEY_CTX, EVP_PKEY_CTX_free> context(EVP_PKEY_CTX_new_from_name(nullptr, kind, nullptr));
  EVP_PKEY* key = nullptr;
  if (!parameters || !context || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, parameters.get()) != 1) {
    return nullptr;
  }
  return {key, &EVP_PKEY_free};
}

std::shared_ptr<EVP_PKEY> rsa_key(const nlohmann::json& text) {
  const auto modulus = base64url_decode(text_of(text, "n"));
  const auto exponent = base64url_decode(text_of(text, "e"));
  if (!modulus || !exponent || modulus->size() < kMinModulusBytes || modulus->size() > kMaxModulusBytes ||
      exponent->empty() || exponent->size() > kMaxExponentBytes) {
    return nullptr;
  }
  const auto n = number_of(*modulus), e = number_of(*exponent);
  const Owned<OSSL_PARAM_BLD, OSSL_PARAM_BLD_free> parts(OSSL_PARAM_BLD_new());
  OSSL_PARAM_BLD_push_BN(parts.get(), OSSL_PKEY_PARAM_RSA_N, n.get());
  OSSL_PARAM_BLD_push_BN(parts.get(), OSSL_PKEY_PARAM_RSA_E, e.get());
  return make_key("RSA", parts.get());
}

std::shared_ptr<EVP_PKEY> p256_key(const nlohmann::json& text) {
  const auto x = base64url_decode(text_of(text, "x"));
  const auto y = base64url_decode(text_of(text, "y"));
  if (text_of(text, "crv") != "P-256" || !x || !y || x->size() != kCoordinateBytes || y->size() != kCoordinateBytes) {
    return nullptr;
  }
  const auto point = "\x04" + *x + *y;  // uncompressed
  const Owned<OSSL_PARAM_BLD, OSSL_PARAM_BLD_free> parts(OSSL_PARAM_BLD_new());
  OSSL_PARAM_BLD_push_utf8_string(parts.get(), OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0);
  OSSL_PARAM_BLD_push_octet_string(parts.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(), point.size());
  return make_key("EC", parts.get());
}

/// Converts a signature of ES256, which is two numbers side by side, to the DER that OpenSSL wants. Empty if the
/// signature has a wrong size.
std::string in_der(std::string_view signature) {
  if (signature.size() != 2 * kCoordinateBytes) return {};
  const Owned<ECDSA_SIG, ECDSA_SIG_free> pair(ECDSA_SIG_new());
  if (ECDSA_SIG_set0(pair.get(), number_of(signature.substr(0, kCoordinateBytes)).release(),
                     number_of(signature.substr(kCoordinateBytes)).release()) != 1) {
    return {};
  }
  unsigned char* out = nullptr;
  const auto size = i2d_ECDSA_SIG(pair.get(), &out);
  if (size <= 0) return {};
  std::string der(reinterpret_cast<const char*>(out), static_cast<std::size_t>(size));
  OPENSSL_free(out);
  return der;
}

}  // namespace

std::optional<WebKeys::Key> WebKeys::read_key(const nlohmann::json& text) {
  if (!text.is_object()) return std::nullopt;
  const auto use = text_of(text, "use");
  if (!use.empty() && use != "sig") return std::nullopt;
  const bool rsa = text_of(text, "kty") == "RSA", ec = text_of(text, "kty") == "EC";
  if (!rsa && !ec) return std::nullopt;
  const auto algorithm = rsa ? kRs256 : kEs256;
  const auto meant_for = text_of(text, "alg");
  if (!meant_for.empty() && meant_for != algorithm) return std::nullopt;
  auto key = rsa ? rsa_key(text) : p256_key(text);
  if (!key) return std::nullopt;
  return Key{std::string(text_of(text, "kid")), algorithm, std::move(key)};
}

Result<WebKeys> WebKeys::read(std::string_view text) {
  const auto wrong = [](const char* why) { return fail(ErrorCode::kConfigInvalid, why); };
  if (text.size() > kMaxSetBytes) return wrong("the key set is larger than 256 KiB");
  const auto set = read_json(text);
  const bool shaped = set && set->is_object() && set->contains("keys") && (*set)["keys"].is_array();
  if (!shaped) return wrong("it is not a JSON Web Key Set, such as {\"keys\":[...]}");
  if ((*set)["keys"].size() > kMaxKeys) return wrong("the key set has more than 100 keys");
  WebKeys keys;
  for (const auto& each : (*set)["keys"]) {
    if (auto key = read_key(each)) keys.keys_.push_back(std::move(*key));
  }
  if (keys.keys_.empty()) return wrong("the key set has no RSA key of 2048 bits and no P-256 key for signatures");
  return keys;
}

const WebKeys::Key* WebKeys::key_of(const WebToken& token) const {
  if (token.key_id.empty()) return keys_.size() == 1 ? keys_.data() : nullptr;
  const auto found = std::ranges::find(keys_, token.key_id, &Key::id);
  return found == keys_.end() ? nullptr : &*found;
}

bool WebKeys::signed_by_one(const WebToken& token) const {
  const auto* const key = key_of(token);
  if (key == nullptr || token.algorithm != key->algorithm) return false;
  const auto signature = key->algorithm == kEs256 ? in_der(token.signature) : token.signature;
  const Owned<EVP_MD_CTX, EVP_MD_CTX_free> context(EVP_MD_CTX_new());
  return !signature.empty() && context &&
         EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, key->key.get()) == 1 &&
         EVP_DigestVerify(context.get(), bytes_of(signature), signature.size(), bytes_of(token.signed_part),
                          token.signed_part.size()) == 1;
}

}  // namespace tidemark::auth
