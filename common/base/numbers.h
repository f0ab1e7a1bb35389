// Numbers in text. Pure.
#pragma once
#include <charconv>
#include <optional>
#include <string_view>

namespace tidemark {

/// The whole text as a decimal number; nothing for anything else, or for one that T cannot hold.
template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// The same within limits.
template <class T>
std::optional<T> parse_number(std::string_view text, T min, T max) {
  const auto value = parse_number<T>(text);
  return value && *value >= min && *value <= max ? value : std::nullopt;
}

}  // namespace tidemark
