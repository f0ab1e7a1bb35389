// The bearer token of a stack. Unless one is configured, it is in DATA/run/token, which only this user can read; the
// first process that needs it makes it, and it stays.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/error.h"

namespace tidemark::auth {

/// `configured`, or, if that is empty, what is in DATA/run/token, which is made if there is none; DATA/run must exist.
/// kConfigInvalid.
Result<std::string> bearer_token(const std::filesystem::path& data, const std::string& configured);
/// What is in DATA/run/token; nothing if there is none that this user can read.
std::optional<std::string> stored_bearer_token(const std::filesystem::path& data);
/// Whether it can be a token: 16 to 512 characters that are printed, none of them blank.
bool is_token(std::string_view text);
/// 64 hex digits that nobody can guess.
Result<std::string> random_token();
/// What this Authorization header has after "Bearer "; nothing if it has another form.
std::optional<std::string_view> token_in(std::optional<std::string_view> header);
/// Whether this Authorization header has the token.
bool bears(std::optional<std::string_view> header, std::string_view token);

}  // namespace tidemark::auth
