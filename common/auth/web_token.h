// A JSON Web Token, taken apart (RFC 7515, RFC 7519): three parts in base64url, header.claims.signature. Nothing in it
// is believed before its signature is checked (web_keys.h). Pure.
#pragma once
#include <string>
#include <string_view>

#include "common/base/json.h"

namespace tidemark::auth {

inline constexpr std::size_t kMaxTokenBytes = 16UL << 10;

struct WebToken {
  std::string algorithm;  // "RS256"
  std::string key_id;     // empty if the token names none
  nlohmann::json claims;  // an object
  std::string_view signed_part;
  std::string signature;
};

/// The text must outlive the result. kBearerTokenInvalid.
Result<WebToken> read_web_token(std::string_view text);

/// Decodes base64url without padding; nothing else is accepted.
std::optional<std::string> base64url_decode(std::string_view text);

/// The error of a refused token, with the reason.
Error token_invalid(std::string detail);

}  // namespace tidemark::auth
