// Lists in text, and the white space around their items. Pure.
#pragma once
#include <algorithm>
#include <string_view>

namespace tidemark {

/// These are about ASCII, regardless of the locale.
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
constexpr bool is_letter(char c) { return is_lower(c) || (c >= 'A' && c <= 'Z'); }

namespace detail {
template <class IsBlank>
constexpr std::string_view trimmed(std::string_view text, IsBlank is_blank) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}
}  // namespace detail

/// Returns the text without the white space at both ends.
constexpr std::string_view trimmed(std::string_view text) {
  return detail::trimmed(text, [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; });
}
/// Returns the text without the spaces at both ends; other white space stays.
constexpr std::string_view trimmed_spaces(std::string_view text) {
  return detail::trimmed(text, [](char c) { return c == ' '; });
}

/// Returns the beginning of a UTF-8 text: whole characters, of at most `bytes` bytes together.
constexpr std::string_view beginning_of(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return text;
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0) == 0x80) --bytes;
  return text.substr(0, bytes);
}

/// Takes the first item, and the comma after it, off the front of a list.
constexpr std::string_view take_item(std::string_view& list) {
  const auto item = list.substr(0, list.find(','));
  list.remove_prefix(std::min(item.size() + 1, list.size()));
  return item;
}

/// True for the form of a protocol version, "2019-02-02". Versions compare as text.
constexpr bool is_version(std::string_view text) {
  if (text.size() != 10) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 4 || i == 7;
    if (dash ? text[i] != '-' : !is_digit(text[i])) return false;
  }
  return true;
}

}  // namespace tidemark
