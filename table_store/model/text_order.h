// The protocol's "ordinal" order of text: by UTF-16 code units, although text is stored as UTF-8. Pure; any thread.
#pragma once
#include <algorithm>
#include <compare>
#include <string_view>

namespace tidemark::table_store {

/// Both sides must be valid UTF-8. The two orders differ only where a character beyond the BMP (lead byte F0 and up,
/// surrogates in UTF-16) meets one of U+E000..U+FFFF (lead bytes EE, EF).
inline std::strong_ordering compare_ordinal(std::string_view a, std::string_view b) {
  const auto differ = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (differ.first == a.end() || differ.second == b.end()) return a.size() <=> b.size();
  const auto rank = [](char c) {
    const unsigned byte = static_cast<unsigned char>(c);
    return byte >= 0xF0 ? 0xED * 8 + 1 + (byte - 0xF0) : byte * 8;
  };
  return rank(*differ.first) <=> rank(*differ.second);
}

}  // namespace tidemark::table_store
