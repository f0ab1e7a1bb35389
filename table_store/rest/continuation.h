// Continuation tokens in the service's form: 1!<length>!<base64 with '=' as '-', '/' as '_', '+' as '*'>. They contain
// no spaces, because of .NET clients. Errors: kInvalidInput.
#pragma once
#include <string>
#include <string_view>

#include "common/base/error.h"

namespace tidemark::table_store {

/// The token is never empty, not even for an empty key, because clients stop at an empty token.
std::string encode_token(std::string_view key);
/// An empty token is the empty key, the start of the partition.
Result<std::string> decode_token(std::string_view token);

}  // namespace tidemark::table_store
