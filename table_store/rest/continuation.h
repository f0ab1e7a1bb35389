// Continuation tokens as the service writes them: 1!<length>!<base64 with '=' as '-', '/' as '_', '+' as '*'>.
// They contain no spaces, because of .NET clients. Errors: kInvalidInput.
#pragma once
#include <string>
#include <string_view>

#include "common/base/error.h"

namespace tidemark::table_store {

/// Never empty, not even for an empty key, because clients stop at an empty token.
std::string encode_token(std::string_view key);
/// An empty token is the empty key, the start of the partition.
Result<std::string> decode_token(std::string_view token);

}  // namespace tidemark::table_store
