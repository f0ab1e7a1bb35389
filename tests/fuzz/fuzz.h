// Shared by the fuzzers: the input as text, and a claim that must hold for every input.
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace tidemark::fuzz {

inline std::string_view text_of(const std::uint8_t* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

inline void require(bool holds, const char* claim) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", claim);
  std::abort();
}

/// Takes everything before the first `mark` off the front, or the whole rest if there is none.
inline std::string_view take_until(std::string_view& rest, char mark) {
  const auto at = rest.find(mark);
  const auto head = rest.substr(0, at);
  rest = at == std::string_view::npos ? std::string_view() : rest.substr(at + 1);
  return head;
}

}  // namespace tidemark::fuzz
