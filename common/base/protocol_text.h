// Texts that the protocols of all stores allow. Pure.
#pragma once
#include <algorithm>
#include <string_view>

#include "common/base/text.h"

namespace tidemark {

/// The characters of a header field: all but control characters, of which only the tab is allowed (RFC 9110, 5.5).
constexpr bool is_field_character(char c) { return (static_cast<unsigned char>(c) >= 0x20 && c != 0x7F) || c == '\t'; }
/// Tells whether a header field can have this value, so that a reader gets it back unchanged: no blanks at the ends.
constexpr bool is_field_value(std::string_view text) {
  return std::ranges::all_of(text, is_field_character) && trimmed(text).size() == text.size();
}

/// Tells whether the text can be the name of a storage account.
constexpr bool is_account_name(std::string_view text) {
  return text.size() >= 3 && text.size() <= 24 &&
         std::ranges::all_of(text, [](char c) { return is_lower(c) || is_digit(c); });
}

}  // namespace tidemark
