// HMAC-SHA256 with an account's keys. Each thread keeps the keyed state of the hash, so a request costs one pass over
// its text and no key setup. Thread safe.
#pragma once
#include <string>
#include <string_view>

#include "common/auth/authenticator.h"

namespace tidemark::auth {

/// kYes if the same text will come again with the same signature, as with a SAS; the result is then remembered.
enum class Repeated { kNo, kYes };

/// True if `signature` (standard base64) is that of `text` with one of the account's keys. Takes constant time per key.
bool signature_matches(const Account& account, std::string_view text, std::string_view signature, Repeated repeated);

/// The error for every failed verification. `detail` tells the client where to look, and must never contain the
/// expected signature.
Error authentication_failed(std::string detail);

}  // namespace tidemark::auth
