#include "common/base/encoding.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "common/base/byte_set.h"

namespace tidemark {
namespace {

constexpr char kHexLower[] = "0123456789abcdef";
constexpr char kHexUpper[] = "0123456789ABCDEF";

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

const unsigned char* as_bytes(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

std::string digest(const EVP_MD* kind, std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> out{};
  unsigned int length = 0;
  EVP_Digest(bytes.data(), bytes.size(), out.data(), &length, kind, nullptr);
  return {reinterpret_cast<const char*>(out.data()), length};
}

/// Returns the byte that two hexadecimal digits stand for; -1 if the text is not two such digits.
int byte_of(std::string_view digits) {
  if (digits.size() != 2) return -1;
  const int high = hex_value(digits[0]), low = hex_value(digits[1]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

void append_hex(std::string& out, char c, const char* digits) {
  const auto byte = static_cast<unsigned char>(c);
  out.push_back(digits[byte >> 4]);
  out.push_back(digits[byte & 0xF]);
}

constexpr auto to_lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };

constexpr ByteSet kBase64("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");
constexpr ByteSet kUnreserved("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~");

// Length of the part at the front that is plain ASCII, at least in whole words.
std::size_t ascii_prefix(std::string_view text) {
  std::size_t at = 0;
  for (std::uint64_t word = 0; at + sizeof word <= text.size(); at += sizeof word) {
    std::memcpy(&word, text.data() + at, sizeof word);
    if ((word & 0x8080808080808080) != 0) break;
  }
  return at;
}

}  // namespace

std::string base64_encode(std::string_view bytes) {
  std::string out(4 * ((bytes.size() + 2) / 3), '\0');
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()), as_bytes(bytes), static_cast<int>(bytes.size()));
  return out;
}

std::optional<std::string> base64_decode(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
  const auto digits = text.substr(0, text.size() - padding);
  if (!std::ranges::all_of(digits, [](char c) { return kBase64.has(c); })) return std::nullopt;
  if (text.empty()) return std::string();
  std::string out(text.size() / 4 * 3, '\0');
  const int length =
      EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()), as_bytes(text), static_cast<int>(text.size()));
  if (length < 0) return std::nullopt;
  out.resize(static_cast<std::size_t>(length) - padding);
  return out;
}

std::optional<std::string> base64_decode_wrapped(std::string text) {
  std::erase_if(text, [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; });
  return base64_decode(text);
}

std::string hex_encode(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const char c : bytes) append_hex(out, c, kHexLower);
  return out;
}

std::optional<std::string> hex_decode(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  std::string out;
  out.reserve(text.size() / 2);
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const int byte = byte_of(text.substr(i, 2));
    if (byte < 0) return std::nullopt;
    out.push_back(static_cast<char>(byte));
  }
  return out;
}

std::optional<std::string> percent_decode(std::string_view text, bool plus_is_space) {
  std::optional<std::string> out(std::in_place, text.size(), '\0');
  const auto end = percent_decode_to(text, plus_is_space, out->data());
  if (end == nullptr) return std::nullopt;
  out->resize(static_cast<std::size_t>(end - out->data()));
  return out;
}

char* percent_decode_to(std::string_view text, bool plus_is_space, char* out) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '+' && plus_is_space) {
      c = ' ';
    } else if (c == '%') {
      const int byte = byte_of(text.substr(i + 1, 2));
      if (byte < 0) return nullptr;
      c = static_cast<char>(byte);
      i += 2;
    }
    *out++ = c;
  }
  return out;
}

std::string percent_encode(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (kUnreserved.has(c)) {
      out.push_back(c);
    } else {
      out.push_back('%');
      append_hex(out, c, kHexUpper);
    }
  }
  return out;
}

std::string hmac_sha256(std::string_view key, std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> out{};
  unsigned int length = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), as_bytes(text), text.size(), out.data(), &length);
  return {reinterpret_cast<const char*>(out.data()), length};
}

std::string sha256(std::string_view bytes) {
  // Without a fetched digest, the library looks up the code on each call, which takes longer than hashing a short text.
  static const EVP_MD* const fetched = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  return digest(fetched != nullptr ? fetched : EVP_sha256(), bytes);
}
std::string md5(std::string_view bytes) { return digest(EVP_md5(), bytes); }

bool constant_time_equal(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

bool is_valid_utf8(std::string_view text) { return simdjson::validate_utf8(text.data(), text.size()); }

std::size_t utf16_length(std::string_view utf8) {
  std::size_t units = ascii_prefix(utf8);
  utf8.remove_prefix(units);
  for (const char c : utf8) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xC0) != 0x80) units += byte >= 0xF0 ? 2 : 1;
  }
  return units;
}

std::string to_lower_ascii(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), to_lower);
  return out;
}

bool detail::iequals_ascii_of_one_length(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, to_lower, to_lower);
}

}  // namespace tidemark
