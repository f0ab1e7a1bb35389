// Text encodings of the protocols, on top of OpenSSL.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace tidemark {

std::string base64_encode(std::string_view bytes);
/// Accepts the standard alphabet with padding, and nothing else.
std::optional<std::string> base64_decode(std::string_view text);
/// Accepts white space anywhere as well, since many encoders break their lines.
std::optional<std::string> base64_decode_wrapped(std::string text);
std::string hex_encode(std::string_view bytes);  // lower case
std::optional<std::string> hex_decode(std::string_view text);
/// Decodes percent escapes; `plus_is_space` is for query values. Nothing if an escape is broken.
std::optional<std::string> percent_decode(std::string_view text, bool plus_is_space);
/// Does the same into the caller's memory, which has room for text.size() bytes. Returns the end of the output, or
/// null.
char* percent_decode_to(std::string_view text, bool plus_is_space, char* out);
/// Keeps the unreserved characters of RFC 3986 and turns all others into %XX.
std::string percent_encode(std::string_view text);
std::string hmac_sha256(std::string_view key, std::string_view text);
std::string sha256(std::string_view bytes);
std::string md5(std::string_view bytes);
/// Takes a time that depends on the lengths, which are not secret, but not on the contents.
bool constant_time_equal(std::string_view a, std::string_view b);
/// True for well-formed UTF-8 without surrogates.
bool is_valid_utf8(std::string_view text);
/// Length of valid UTF-8 text in UTF-16 code units, the unit of the protocol's limits.
std::size_t utf16_length(std::string_view utf8);
std::string to_lower_ascii(std::string_view text);
namespace detail {
bool iequals_ascii_of_one_length(std::string_view a, std::string_view b);
}
inline bool iequals_ascii(std::string_view a, std::string_view b) {
  return a.size() == b.size() && detail::iequals_ascii_of_one_length(a, b);
}

}  // namespace tidemark
