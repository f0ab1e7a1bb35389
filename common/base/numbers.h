// Numbers in text. Pure.
#pragma once
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace tidemark {

/// Reads the whole text as a decimal number; nothing for any other text, or for a number that T cannot hold.
template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Does the same, but returns the nearest value of T for a number that T cannot hold.
template <class T>
std::optional<T> parse_nearest(std::string_view text) {
  T value{};
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status == std::errc::invalid_argument || end != text.data() + text.size()) return std::nullopt;
  if (status == std::errc()) return value;
  return text.starts_with('-') ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
}

/// Returns the Double that is nearest to a decimal number: a zero if the number is too small, nothing if it is too
/// large.
inline std::optional<double> parse_double(std::string_view text) {
  double value{};
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size() || status == std::errc::invalid_argument) return std::nullopt;
  if (status == std::errc()) return value;
  value = std::strtod(std::string(text).c_str(), nullptr);  // from_chars does not tell one from the other
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

/// Does the same as parse_number() within limits.
template <class T>
std::optional<T> parse_number(std::string_view text, T min, T max) {
  const auto value = parse_number<T>(text);
  return value && *value >= min && *value <= max ? value : std::nullopt;
}

}  // namespace tidemark
