// Order-preserving key encodings: encoded keys sort bytewise in the order of their parts.
//   text    each byte, with 0x00 written 0x00 0xFF; ends with 0x00 0x01
//   utf16   valid UTF-8 in the order of its UTF-16 code units (the protocol's "ordinal" order): characters beyond
//           the BMP are written as two 3-byte surrogates (CESU-8); then as text
//   u64     8 bytes, big-endian
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/kv/engine.h"

namespace tidemark::kv {

void append_text(std::string& key, std::string_view text);
void append_utf16(std::string& key, std::string_view utf8);
void append_u64(std::string& key, std::uint64_t value);
/// Each function removes its part from the front of `key`; nothing if `key` does not begin with such a part.
std::optional<std::string> take_text(std::string_view& key);
std::optional<std::string> take_utf16(std::string_view& key);
/// Does the same as take_utf16, without a copy if the key has the text unchanged. The view points into the key or into
/// `scratch`.
std::optional<std::string_view> take_utf16_view(std::string_view& key, std::string& scratch);
std::optional<std::uint64_t> take_u64(std::string_view& key);
/// Returns the number after the first byte of a key; 0 if there is none.
std::uint64_t number_in(std::string_view key);
/// The smallest key greater than every key with this prefix; empty if there is none.
std::string prefix_end(std::string_view prefix);
/// All keys with this prefix.
inline KeyRange under(std::string prefix) {
  auto upper = prefix_end(prefix);
  return {std::move(prefix), std::move(upper)};
}

/// Parts of a key that are encoded as text and as utf16.
struct Text {
  std::string_view value;
};
struct Utf16 {
  std::string_view value;
};

namespace detail {
inline void append(std::string& key, char byte) { key.push_back(byte); }
inline void append(std::string& key, std::string_view bytes) { key.append(bytes); }
inline void append(std::string& key, std::uint64_t number) { append_u64(key, number); }
inline void append(std::string& key, Text text) { append_text(key, text.value); }
inline void append(std::string& key, Utf16 text) { append_utf16(key, text.value); }

inline std::size_t room_for(char) { return 1; }
inline std::size_t room_for(std::string_view bytes) { return bytes.size(); }
inline std::size_t room_for(std::uint64_t) { return 8; }
inline std::size_t room_for(Text text) { return text.value.size() + 2; }
inline std::size_t room_for(Utf16 text) { return text.value.size() + 2; }
}  // namespace detail

/// Builds a key: bytes stay as they are, numbers become u64. key('t', Text{account}, Text{table})
template <class... Parts>
std::string key(const Parts&... parts) {
  std::string out;
  out.reserve((detail::room_for(parts) + ...));
  (detail::append(out, parts), ...);
  return out;
}

}  // namespace tidemark::kv
