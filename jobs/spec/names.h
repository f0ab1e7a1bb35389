// Names: those of an enumeration's values, as in the API and in stored rows, in one table for both directions; and the
// characters of names. Pure.
#pragma once
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tidemark::jobs {

template <class Value, std::size_t N>
using Names = std::array<std::pair<Value, std::string_view>, N>;

template <class Value, std::size_t N>
constexpr std::string_view name_in(const Names<Value, N>& names, Value value) {
  for (const auto& [known, name] : names) {
    if (known == value) return name;
  }
  return "unknown";
}

template <class Value, std::size_t N>
constexpr std::optional<Value> value_in(const Names<Value, N>& names, std::string_view text) {
  for (const auto& [value, name] : names) {
    if (name == text) return value;
  }
  return std::nullopt;
}

/// Returns the names, in their order.
template <class Value, std::size_t N>
constexpr std::array<std::string_view, N> texts_in(const Names<Value, N>& names) {
  std::array<std::string_view, N> out{};
  std::ranges::transform(names, out.begin(), [](const auto& each) { return each.second; });
  return out;
}

inline bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}
/// Checks for 1 to `most` letters, digits, '-', '_' and '.'.
inline bool is_simple_name(std::string_view text, std::size_t most) {
  return !text.empty() && text.size() <= most &&
         std::ranges::all_of(text, [](char c) { return is_alphanumeric(c) || c == '-' || c == '_' || c == '.'; });
}

/// Returns a text such as "a, b, c".
std::string joined(const auto& texts, const char* between = ", ") {
  std::string out;
  for (const auto& text : texts) out += (out.empty() ? "" : between) + std::string(text);
  return out;
}

}  // namespace tidemark::jobs
