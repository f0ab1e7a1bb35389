#include "common/kv/key_codec.h"

#include <algorithm>

namespace tidemark::kv {
namespace {

constexpr char kZero = '\x00';
constexpr char kEscapedZero = '\xFF';
constexpr char kTerminator = '\x01';

unsigned byte_at(std::string_view text, std::size_t index) { return static_cast<unsigned char>(text[index]); }

bool is_continuation(unsigned byte) { return (byte & 0xC0) == 0x80; }

void append_three_bytes(std::string& out, unsigned unit) {
  out.push_back(static_cast<char>(0xE0 | (unit >> 12)));
  out.push_back(static_cast<char>(0x80 | ((unit >> 6) & 0x3F)));
  out.push_back(static_cast<char>(0x80 | (unit & 0x3F)));
}

/// Returns the code unit of the 3-byte sequence at `index`, if that is a surrogate.
std::optional<unsigned> surrogate_at(std::string_view text, std::size_t index) {
  if (index + 3 > text.size() || byte_at(text, index) != 0xED) return std::nullopt;
  const unsigned second = byte_at(text, index + 1);
  const unsigned third = byte_at(text, index + 2);
  if (second < 0xA0 || !is_continuation(second) || !is_continuation(third)) return std::nullopt;
  return 0xD000U | ((second & 0x3F) << 6) | (third & 0x3F);
}

void append_utf8_beyond_bmp(std::string& out, unsigned code_point) {
  out.push_back(static_cast<char>(0xF0 | (code_point >> 18)));
  out.push_back(static_cast<char>(0x80 | ((code_point >> 12) & 0x3F)));
  out.push_back(static_cast<char>(0x80 | ((code_point >> 6) & 0x3F)));
  out.push_back(static_cast<char>(0x80 | (code_point & 0x3F)));
}

/// Returns nothing for text that append_utf16 never writes: with a lone surrogate, or a character beyond the BMP in
/// four bytes.
std::optional<std::string> utf8_of_cesu8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const unsigned byte = byte_at(text, i);
    if (byte >= 0xF0) return std::nullopt;
    const auto high = surrogate_at(text, i);
    if (!high) {
      out.push_back(text[i++]);
      continue;
    }
    const auto low = surrogate_at(text, i + 3);
    if (*high >= 0xDC00 || !low || *low < 0xDC00) return std::nullopt;
    append_utf8_beyond_bmp(out, 0x10000U + ((*high - 0xD800U) << 10) + (*low - 0xDC00U));
    i += 6;
  }
  return out;
}

}  // namespace

void append_text(std::string& key, std::string_view text) {
  for (std::size_t from = 0;;) {
    const auto zero = text.find(kZero, from);
    key.append(text.substr(from, zero == std::string_view::npos ? zero : zero - from));
    key.push_back(kZero);
    if (zero == std::string_view::npos) break;
    key.push_back(kEscapedZero);
    from = zero + 1;
  }
  key.push_back(kTerminator);
}

void append_utf16(std::string& key, std::string_view utf8) {
  // Only characters beyond the BMP sort differently in UTF-8 and in UTF-16, and they are rare.
  std::string cesu8;
  std::size_t copied = 0;
  for (std::size_t i = 0; i < utf8.size(); ++i) {
    const unsigned byte = byte_at(utf8, i);
    if (byte < 0xF0 || i + 4 > utf8.size()) continue;
    const unsigned code_point = ((byte & 0x07) << 18) | ((byte_at(utf8, i + 1) & 0x3F) << 12) |
                                ((byte_at(utf8, i + 2) & 0x3F) << 6) | (byte_at(utf8, i + 3) & 0x3F);
    if (code_point < 0x10000 || code_point > 0x10FFFF) continue;  // not valid UTF-8
    cesu8.append(utf8.substr(copied, i - copied));
    append_three_bytes(cesu8, 0xD800U + ((code_point - 0x10000U) >> 10));
    append_three_bytes(cesu8, 0xDC00U + ((code_point - 0x10000U) & 0x3FF));
    i += 3;
    copied = i + 1;
  }
  if (copied == 0) return append_text(key, utf8);
  cesu8.append(utf8.substr(copied));
  append_text(key, cesu8);
}

void append_u64(std::string& key, std::uint64_t value) {
  for (int shift = 56; shift >= 0; shift -= 8) key.push_back(static_cast<char>((value >> shift) & 0xFF));
}

std::optional<std::string> take_text(std::string_view& key) {
  std::string text;
  for (std::size_t from = 0;;) {
    const auto zero = key.find(kZero, from);
    if (zero == std::string_view::npos || zero + 1 >= key.size()) return std::nullopt;
    text.append(key.substr(from, zero - from));
    from = zero + 2;
    if (key[zero + 1] == kTerminator) {
      key.remove_prefix(from);
      return text;
    }
    if (key[zero + 1] != kEscapedZero) return std::nullopt;
    text.push_back(kZero);
  }
}

std::optional<std::string> take_utf16(std::string_view& key) {
  auto rest = key;
  const auto cesu8 = take_text(rest);
  if (!cesu8) return std::nullopt;
  auto utf8 = utf8_of_cesu8(*cesu8);
  if (utf8) key = rest;
  return utf8;
}

std::optional<std::string_view> take_utf16_view(std::string_view& key, std::string& scratch) {
  const auto zero = key.find(kZero);
  if (zero != std::string_view::npos && zero + 1 < key.size() && key[zero + 1] == kTerminator) {
    const auto text = key.substr(0, zero);
    // Lead bytes from ED on may begin a surrogate.
    if (std::none_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) >= 0xED; })) {
      key.remove_prefix(zero + 2);
      return text;
    }
  }
  auto copy = take_utf16(key);
  if (!copy) return std::nullopt;
  scratch = std::move(*copy);
  return scratch;
}

std::optional<std::uint64_t> take_u64(std::string_view& key) {
  if (key.size() < 8) return std::nullopt;
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < 8; ++i) value = (value << 8) | byte_at(key, i);
  key.remove_prefix(8);
  return value;
}

std::uint64_t number_in(std::string_view key) {
  if (key.empty()) return 0;
  key.remove_prefix(1);
  return take_u64(key).value_or(0);
}

std::string prefix_end(std::string_view prefix) {
  while (!prefix.empty() && prefix.back() == '\xFF') prefix.remove_suffix(1);
  std::string end(prefix);
  if (!end.empty()) end.back() = static_cast<char>(static_cast<unsigned char>(end.back()) + 1);
  return end;
}

}  // namespace tidemark::kv
