// HMAC-SHA256 with an account's keys. The keyed hash state is kept per thread, so that a request costs one pass over
// its own text and no key setup. Safe to call from any thread; no errors besides "does not match".
#pragma once
#include <string>
#include <string_view>

#include "common/auth/authenticator.h"

namespace tidemark::auth {

/// Whether the same text will be seen again with the same signature, as that of a SAS is; then the result is
/// remembered.
enum class Repeated { kNo, kYes };

/// True if `signature` (standard base64) is `text` signed with one of the account's keys. Constant time per key.
bool signature_matches(const Account& account, std::string_view text, std::string_view signature, Repeated repeated);

/// The refusal of everything that does not verify; `detail` tells the client what to look at and never holds what the
/// signature should have been.
Error authentication_failed(std::string detail);

}  // namespace tidemark::auth
