#include "common/base/xml_text.h"

#include <algorithm>

#include "common/base/byte_set.h"
#include "common/base/encoding.h"

namespace tidemark {
namespace {

// U+FFFE and U+FFFF are EF BF BE and EF BF BF.
constexpr char kLead = '\xEF';
constexpr std::size_t kNoncharacterBytes = 3;

constexpr ByteSet kNeedsCare(
    {"&<>\"\xEF\x00\x01\x02\x03\x04\x05\x06\x07\x08\x0B\x0C\r\x0E\x0F\x10\x11\x12\x13\x14\x15"
     "\x16\x17\x18\x19\x1A\x1B\x1C\x1D\x1E\x1F",
     35});

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
      return "&#xD;";  // a bare CR would be read as a line feed
    default:
      return "\xEF\xBF\xBD";  // U+FFFD
  }
}

bool begins_with_noncharacter(std::string_view text) {
  return text.starts_with("\xEF\xBF\xBE") || text.starts_with("\xEF\xBF\xBF");
}

}  // namespace

bool is_xml_text(std::string_view utf8) {
  if (!is_valid_utf8(utf8)) return false;
  for (std::size_t i = 0; i < utf8.size(); ++i) {
    const auto byte = static_cast<unsigned char>(utf8[i]);
    if (byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') return false;
    if (byte == 0xEF && begins_with_noncharacter(utf8.substr(i))) return false;
  }
  return true;
}

void append_escaped(std::string& out, std::string_view text) {
  for (;;) {
    const auto special = kNeedsCare.find_first(text);
    out.append(text.substr(0, special));
    if (special == text.size()) return;
    text.remove_prefix(special);
    const bool noncharacter = begins_with_noncharacter(text);
    if (text.front() == kLead && !noncharacter) {
      out.push_back(kLead);
    } else {
      out.append(escape_of(text.front()));
    }
    text.remove_prefix(noncharacter ? kNoncharacterBytes : 1);
  }
}

std::string json_as_xml_text(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (;;) {
    const auto at = std::min(json.find(kLead), json.size());
    out.append(json.substr(0, at));
    json.remove_prefix(at);
    if (json.empty()) return out;
    const bool noncharacter = begins_with_noncharacter(json);
    if (noncharacter) {
      out.append(json[2] == '\xBE' ? R"(\ufffe)" : R"(\uffff)");
    } else {
      out.push_back(kLead);
    }
    json.remove_prefix(noncharacter ? kNoncharacterBytes : 1);
  }
}

}  // namespace tidemark
