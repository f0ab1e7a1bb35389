// The bearer token of a stack. Unless a token is configured, it is in DATA/run/token, which only this user can read.
// The first process that needs the file makes it, and it stays.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/error.h"

namespace tidemark::auth {

/// Returns `configured` or, if that is empty, the content of DATA/run/token, which it makes if it is missing. DATA/run
/// must exist. kConfigInvalid.
Result<std::string> bearer_token(const std::filesystem::path& data, const std::string& configured);
/// Returns the content of DATA/run/token; nothing if there is no such file that this user can read.
std::optional<std::string> stored_bearer_token(const std::filesystem::path& data);
/// Tells whether the text can be a token: 16 to 512 printable characters without blanks.
bool is_token(std::string_view text);
/// Returns 64 hex digits that nobody can guess.
Result<std::string> random_token();
/// Returns the text after "Bearer " in this Authorization header; nothing if the header has another form.
std::optional<std::string_view> token_in(std::optional<std::string_view> header);
/// Tells whether this Authorization header has the token.
bool bears(std::optional<std::string_view> header, std::string_view token);

}  // namespace tidemark::auth
