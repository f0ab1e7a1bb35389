// A set of byte values with one table lookup per byte; std::string_view::find_first_of() searches its set for each.
#pragma once
#include <algorithm>
#include <array>
#include <string_view>

namespace tidemark {

class ByteSet {
 public:
  constexpr explicit ByteSet(std::string_view bytes) {
    for (const char c : bytes) has_[static_cast<unsigned char>(c)] = true;
  }
  [[nodiscard]] constexpr bool has(char c) const { return has_[static_cast<unsigned char>(c)]; }
  /// The position of the first byte in the set, or text.size().
  [[nodiscard]] constexpr std::size_t find_first(std::string_view text) const {
    const auto found = std::find_if(text.begin(), text.end(), [this](char c) { return has(c); });
    return static_cast<std::size_t>(found - text.begin());
  }

 private:
  std::array<bool, 256> has_{};
};

}  // namespace tidemark
