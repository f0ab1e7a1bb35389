// Text in XML 1.0. Pure.
#pragma once
#include <string>
#include <string_view>

namespace tidemark {

/// True if the text is well-formed UTF-8 and has only characters that XML allows.
bool is_xml_text(std::string_view utf8);
/// Escapes the text; characters that XML does not allow become U+FFFD.
void append_escaped(std::string& out, std::string_view text);
/// Returns JSON text that is also XML text: U+FFFE and U+FFFF, which only JSON allows, are escaped.
std::string json_as_xml_text(std::string_view json);

}  // namespace tidemark
