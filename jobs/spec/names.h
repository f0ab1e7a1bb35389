// The names of an enumeration's values, as in the API and in stored rows, in one table for both directions. Pure.
#pragma once
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

/// "a, b, c"
std::string joined(const auto& texts) {
  std::string out;
  for (const auto& text : texts) out += (out.empty() ? "" : ", ") + std::string(text);
  return out;
}

}  // namespace tidemark::jobs
