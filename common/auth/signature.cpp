#include "common/auth/signature.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include <array>
#include <memory>

#include "common/base/encoding.h"

namespace tidemark::auth {
namespace {

constexpr std::size_t kDigestSize = 32;
constexpr std::size_t kSignatureSize = 44;  // base64 of a digest
constexpr std::size_t kCachedKeys = 16;     // per thread; more accounts than this only cost key setups
// Per thread. A SAS signs the same text in each request; these are the latest texts whose signatures matched.
constexpr std::size_t kRemembered = 64;
constexpr std::size_t kMaxRememberedText = 512;

struct ContextDeleter {
  void operator()(EVP_MAC_CTX* context) const { EVP_MAC_CTX_free(context); }
};
using Context = std::unique_ptr<EVP_MAC_CTX, ContextDeleter>;

struct KeyedContext {
  std::string key;
  Context context;
};

EVP_MAC* hmac_algorithm() {
  // Fetched once and kept: fetching takes a lock and a search through the providers.
  static EVP_MAC* const algorithm = EVP_MAC_fetch(nullptr, "HMAC", nullptr);
  return algorithm;
}

Context make_context(const std::string& key) {
  EVP_MAC* const algorithm = hmac_algorithm();
  if (algorithm == nullptr) return nullptr;
  Context context(EVP_MAC_CTX_new(algorithm));
  std::string digest = "SHA256";
  const std::array<OSSL_PARAM, 2> parameters{OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest.data(), 0),
                                             OSSL_PARAM_construct_end()};
  const auto* bytes = reinterpret_cast<const unsigned char*>(key.data());
  if (!context || EVP_MAC_init(context.get(), bytes, key.size(), parameters.data()) != 1) return nullptr;
  return context;
}

EVP_MAC_CTX* context_for(const std::string& key) {
  thread_local std::vector<KeyedContext> cache;
  for (const auto& entry : cache) {
    if (entry.key == key) return entry.context.get();
  }
  auto context = make_context(key);
  if (!context) return nullptr;
  if (cache.size() >= kCachedKeys) cache.erase(cache.begin());
  return cache.emplace_back(key, std::move(context)).context.get();
}

bool sign(const std::string& key, std::string_view text, std::array<char, kSignatureSize + 1>& out) {
  EVP_MAC_CTX* const context = context_for(key);
  // A new start without a key keeps the key of the context.
  if (context == nullptr || EVP_MAC_init(context, nullptr, 0, nullptr) != 1) return false;
  std::array<unsigned char, kDigestSize> digest{};
  std::size_t length = 0;
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  if (EVP_MAC_update(context, bytes, text.size()) != 1) return false;
  if (EVP_MAC_final(context, digest.data(), &length, digest.size()) != 1 || length != kDigestSize) return false;
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()), digest.data(), kDigestSize);
  return true;
}

/// A signature that was found to be right. Its key, text and signature are compared as a whole, so a changed one is
/// never taken for it.
struct Verified {
  std::string key, text, signature;

  [[nodiscard]] bool is(const std::string& with_key, std::string_view of_text, std::string_view is_signature) const {
    return text == of_text && constant_time_equal(key, with_key) && constant_time_equal(signature, is_signature);
  }
};

Verified& remembered(std::string_view text) {
  thread_local std::array<Verified, kRemembered> all;
  return all[std::hash<std::string_view>()(text) % kRemembered];
}

}  // namespace

bool signature_matches(const Account& account, std::string_view text, std::string_view signature, Repeated repeated) {
  if (signature.size() != kSignatureSize) return false;
  const bool remember = repeated == Repeated::kYes && text.size() <= kMaxRememberedText;
  std::array<char, kSignatureSize + 1> expected{};
  for (const auto& key : account.keys) {
    if (key.empty()) continue;  // anyone could sign with it
    if (remember && remembered(text).is(key, text, signature)) return true;
    // The texts are compared, not the decoded bytes: base64 has several spellings of one digest.
    if (!sign(key, text, expected) || !constant_time_equal({expected.data(), kSignatureSize}, signature)) continue;
    if (remember) remembered(text) = {key, std::string(text), std::string(signature)};
    return true;
  }
  return false;
}

Error authentication_failed(std::string detail) {
  auto error = make_error(ErrorCode::kAuthenticationFailed);
  error.fields.emplace_back("AuthenticationErrorDetail", std::move(detail));
  return error;
}

}  // namespace tidemark::auth
