// Text in XML 1.0. Pure.
#pragma once
#include <string>
#include <string_view>

namespace tidemark {

/// Well-formed UTF-8 of characters that XML allows.
bool is_xml_text(std::string_view utf8);
/// What XML cannot carry becomes a space.
void append_escaped(std::string& out, std::string_view text);

}  // namespace tidemark
