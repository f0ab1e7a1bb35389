#include "common/base/xml_text.h"

#include "common/base/byte_set.h"
#include "common/base/encoding.h"

namespace tidemark {
namespace {

constexpr ByteSet kNeedsCare(
    {"&<>\"\x00\x01\x02\x03\x04\x05\x06\x07\x08\x0B\x0C\r\x0E\x0F\x10\x11\x12\x13\x14\x15"
     "\x16\x17\x18\x19\x1A\x1B\x1C\x1D\x1E\x1F",
     34});

std::string_view escape_of(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\r':
      return "&#xD;";  // a bare one would be read as a line feed
    default:
      return " ";
  }
}

}  // namespace

bool is_xml_text(std::string_view utf8) {
  if (!is_valid_utf8(utf8)) return false;
  for (std::size_t i = 0; i < utf8.size(); ++i) {
    const auto byte = static_cast<unsigned char>(utf8[i]);
    if (byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') return false;
    // U+FFFE and U+FFFF are EF BF BE and EF BF BF.
    if (byte == 0xEF && static_cast<unsigned char>(utf8[i + 1]) == 0xBF &&
        static_cast<unsigned char>(utf8[i + 2]) >= 0xBE) {
      return false;
    }
  }
  return true;
}

void append_escaped(std::string& out, std::string_view text) {
  for (;;) {
    const auto special = kNeedsCare.find_first(text);
    out.append(text.substr(0, special));
    if (special == text.size()) return;
    out.append(escape_of(text[special]));
    text.remove_prefix(special + 1);
  }
}

}  // namespace tidemark
