#include "common/base/xml_text.h"

#include <array>

#include "common/base/encoding.h"

namespace tidemark {
namespace {

constexpr std::array<bool, 256> kNeedsCare = [] {
  std::array<bool, 256> needs{};
  for (std::size_t c = 0; c < 0x20; ++c) needs[c] = c != '\n' && c != '\t';
  for (const unsigned char c : {'&', '<', '>', '"'}) needs[c] = true;
  return needs;
}();

bool needs_care(char c) { return kNeedsCare[static_cast<unsigned char>(c)]; }

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
  auto plain = text.begin();
  for (auto at = text.begin(); at != text.end(); ++at) {
    if (!needs_care(*at)) continue;
    out.append(plain, at).append(escape_of(*at));
    plain = at + 1;
  }
  out.append(plain, text.end());
}

std::string escaped(std::string_view text) {
  std::string out;
  append_escaped(out, text);
  return out;
}

void append_element(std::string& out, std::string_view name, std::string_view text) {
  out.append("<").append(name).append(">");
  append_escaped(out, text);
  out.append("</").append(name).append(">");
}

}  // namespace tidemark
