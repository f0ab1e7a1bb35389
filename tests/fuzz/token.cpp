// Bearer tokens and key sets. The first byte tells the kind of input: t a token, k a key set, c the claims of a token
// whose signature is not checked. No token is accepted: the private key was thrown away when the public one was made.
#include "common/auth/token_check.h"
#include "tests/fuzz/fuzz.h"

#include "common/base/encoding.h"

#include <algorithm>

namespace {

using namespace tidemark;
using namespace tidemark::auth;

constexpr const char* kKeys =
    R"({"keys":[{"kty":"EC","crv":"P-256","kid":"e",)"
    R"("x":"CRDZ-9EFyWuqKXz8PlwVusxuj4AhbfikpVYU940UcSo","y":"LHOnWRH1wgrMX5P50XPujPx5rcGE7XyjauZZEnQk_F0"}]})";
const Time kNow{Ticks(17'000'000'000'000'000)};

void check_token(std::string_view text) {
  static TokenCheck* const check = [] {
    auto* made = new TokenCheck({"https://i", {"a"}});
    made->use(WebKeys::read(kKeys).value());
    return made;
  }();
  fuzz::require(!check->check(text, Service::kBlob, kNow), "no token is accepted that nobody signed");
  const auto token = read_web_token(text);
  if (!token) return;
  fuzz::require(token->claims.is_object(), "claims are an object");
  fuzz::require(text.starts_with(token->signed_part) && text.size() > token->signed_part.size(),
                "what is signed is in front");
}

void check_keys(std::string_view text) {
  const auto keys = WebKeys::read(text);
  if (!keys) return;
  fuzz::require(keys->size() > 0 && keys->size() <= 100, "a set has keys, and not too many");
  WebToken token;
  token.algorithm = "ES256";
  token.key_id = "e";
  token.signed_part = "text";
  token.signature = std::string(64, 'x');
  fuzz::require(!keys->signed_by_one(token), "nobody has signed this");
}

void check_claims(std::string_view text) {
  static const TokenCheck check({"https://i", {"a"}, "roles", false});
  auto encoded = base64_encode(text);
  std::erase(encoded, '=');
  std::ranges::replace(encoded, '+', '-');
  std::ranges::replace(encoded, '/', '_');
  const auto bearer = check.check("e30." + encoded + ".", Service::kQueue, kNow);
  if (bearer) fuzz::require(!bearer->object_id.empty() && bearer->roles < kRolesEnd, "it is known who bears it");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  auto text = fuzz::text_of(bytes, size);
  if (text.empty()) return 0;
  const char kind = text.front();
  text.remove_prefix(1);
  if (kind == 't') check_token(text);
  if (kind == 'k') check_keys(text);
  if (kind == 'c') check_claims(text);
  return 0;
}
