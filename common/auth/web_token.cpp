#include "common/auth/web_token.h"

#include <algorithm>

#include "common/base/encoding.h"

namespace tidemark::auth {
namespace {

/// Returns a member of the header that must be a text if it is present.
Result<std::string> text_member(const nlohmann::json& header, const char* name) {
  const auto found = header.find(name);
  if (found == header.end()) return std::string();
  if (!found->is_string()) return fail(token_invalid("The header of the token is malformed."));
  return found->get<std::string>();
}

Result<nlohmann::json> read_part(std::string_view encoded, const char* malformed) {
  const auto text = base64url_decode(encoded);
  if (!text) return fail(token_invalid(malformed));
  auto part = read_json(*text);
  if (!part || !part->is_object()) return fail(token_invalid(malformed));
  return std::move(*part);
}

}  // namespace

Result<WebToken> read_web_token(std::string_view text) {
  if (text.size() > kMaxTokenBytes) return fail(token_invalid("The token is longer than 16 KiB."));
  const auto first = text.find('.');
  const auto second = first == text.npos ? text.npos : text.find('.', first + 1);
  if (second == text.npos || text.find('.', second + 1) != text.npos) {
    return fail(token_invalid("The token does not consist of three parts."));
  }
  const auto header = TRY(read_part(text.substr(0, first), "The header of the token is malformed."));
  WebToken token;
  token.algorithm = TRY(text_member(header, "alg"));
  token.key_id = TRY(text_member(header, "kid"));
  // "crit" lists extensions that must be understood (RFC 7515, 4.1.11); none is supported.
  if (header.contains("crit")) return fail(token_invalid("The token needs extensions that are not known."));
  token.claims = TRY(read_part(text.substr(first + 1, second - first - 1), "The claims of the token are malformed."));
  auto signature = base64url_decode(text.substr(second + 1));
  if (!signature) return fail(token_invalid("The signature of the token is malformed."));
  token.signature = std::move(*signature);
  token.signed_part = text.substr(0, second);
  return token;
}

std::optional<std::string> base64url_decode(std::string_view text) {
  std::string standard(text);
  if (standard.find_first_of("+/=") != std::string::npos) return std::nullopt;
  std::ranges::replace(standard, '-', '+');
  std::ranges::replace(standard, '_', '/');
  standard.append((4 - standard.size() % 4) % 4, '=');
  return base64_decode(standard);
}

Error token_invalid(std::string detail) {
  auto error = make_error(ErrorCode::kBearerTokenInvalid);
  error.fields.emplace_back("AuthenticationErrorDetail", std::move(detail));
  return error;
}

}  // namespace tidemark::auth
