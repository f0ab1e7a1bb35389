#include "common/protocol/xml.h"

#include <charconv>
#include <pugixml.hpp>
#include <utility>

#include "common/base/xml_text.h"

namespace tidemark::protocol {
namespace {

// The largest legitimate body has about 200; the parser's own recursion must stay shallow.
constexpr std::size_t kMaxMarkups = 2000;

bool is_known_reference(std::string_view text) {  // the text begins after '&'
  const auto end = text.find(';');
  if (end == std::string_view::npos || end == 0 || end > 10) return false;
  const auto name = text.substr(0, end);
  if (name == "lt" || name == "gt" || name == "amp" || name == "quot" || name == "apos") return true;
  if (name[0] != '#' || name.size() < 2) return false;
  const bool hex = name[1] == 'x';
  const auto digits = name.substr(hex ? 2 : 1);
  std::uint32_t code = 0;
  const auto [last, status] = std::from_chars(digits.data(), digits.data() + digits.size(), code, hex ? 16 : 10);
  if (status != std::errc() || last != digits.data() + digits.size() || code > 0x10FFFF) return false;
  if ((code >= 0xD800 && code <= 0xDFFF) || code == 0xFFFE || code == 0xFFFF) return false;
  return code >= 0x20 || code == 9 || code == 10 || code == 13;
}

/// Returns the end of the piece of markup at the beginning of the text, by the same rules as the parser, which ignores
/// the text of comments and instructions; npos if it does not end or is not allowed here.
std::size_t end_of_markup(std::string_view text) {
  const auto after = [text](std::string_view begin, std::string_view end) {
    const auto found = text.find(end, begin.size());
    return found == std::string_view::npos ? found : found + end.size();
  };
  for (const auto& [begin, end] :
       {std::pair<std::string_view, std::string_view>{"<![CDATA[", "]]>"}, {"<!--", "-->"}, {"<?", "?>"}}) {
    if (text.starts_with(begin)) return after(begin, end);
  }
  if (text.starts_with("<!")) return std::string_view::npos;  // DOCTYPE
  char quote = 0;
  for (std::size_t i = 1; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '<' || (c == '&' && !is_known_reference(text.substr(i + 1)))) return std::string_view::npos;
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '>') {
      return i + 1;
    }
  }
  return std::string_view::npos;
}

// Refuses errors that the lenient parser underneath would let pass.
bool is_acceptable(std::string_view body) {
  if (!is_xml_text(body)) return false;
  std::size_t markups = 0;
  for (std::size_t i = 0; i < body.size();) {
    if (body[i] == '<') {
      const auto end = end_of_markup(body.substr(i));
      if (end == std::string_view::npos || ++markups > kMaxMarkups) return false;
      i += end;
    } else if (body[i] == '&' && !is_known_reference(body.substr(i + 1))) {
      return false;
    } else {
      ++i;
    }
  }
  return true;
}

/// Tells whether the document is one element with only white space around it.
bool is_one_element(const pugi::xml_document& document) {
  std::size_t elements = 0;
  for (const auto& node : document.children()) {
    const bool blank = std::string_view(node.value()).find_first_not_of(" \t\r\n") == std::string_view::npos;
    if (node.type() == pugi::node_element) {
      ++elements;
    } else if (node.type() != pugi::node_pcdata || !blank) {
      return false;
    }
  }
  return elements == 1;
}

}  // namespace

Result<void> parse_xml(std::string_view body, pugi::xml_document& document) {
  if (body.starts_with("\xEF\xBB\xBF")) body.remove_prefix(3);
  if (!is_acceptable(body)) return fail(ErrorCode::kInvalidXmlDocument);
  // Parsed as a fragment, so that text outside the element is seen and can be refused.
  constexpr unsigned kFlags = pugi::parse_escapes | pugi::parse_cdata | pugi::parse_ws_pcdata | pugi::parse_eol |
                              pugi::parse_wconv_attribute | pugi::parse_fragment;
  const auto parsed = document.load_buffer(body.data(), body.size(), kFlags, pugi::encoding_utf8);
  if (!parsed || !is_one_element(document)) return fail(ErrorCode::kInvalidXmlDocument);
  return {};
}

void XmlWriter::finish_tag() {
  if (std::exchange(in_tag_, false)) out_ += '>';
}

XmlWriter& XmlWriter::begin(std::string_view name) {
  finish_tag();
  out_.append("<").append(name);
  open_.at(depth_++) = name;
  in_tag_ = true;
  return *this;
}

XmlWriter& XmlWriter::attribute(std::string_view name, std::string_view value) {
  out_.append(" ").append(name).append("=\"");
  append_escaped(out_, value);
  out_ += '"';
  return *this;
}

XmlWriter& XmlWriter::element(std::string_view name, std::string_view text) {
  finish_tag();
  out_.append("<").append(name);
  if (text.empty()) {
    out_ += " />";
    return *this;
  }
  out_ += '>';
  append_escaped(out_, text);
  out_.append("</").append(name).append(">");
  return *this;
}

XmlWriter& XmlWriter::text(std::string_view text) {
  finish_tag();
  append_escaped(out_, text);
  return *this;
}

XmlWriter& XmlWriter::raw(std::string_view xml) {
  finish_tag();
  out_ += xml;
  return *this;
}

XmlWriter& XmlWriter::end() {
  const auto name = open_.at(--depth_);
  if (std::exchange(in_tag_, false)) {
    out_ += " />";
  } else {
    out_.append("</").append(name).append(">");
  }
  return *this;
}

std::string XmlWriter::take() {
  while (depth_ > 0) end();
  return std::move(out_);
}

std::string as_xml_text(std::string_view bytes) {
  if (is_xml_text(bytes)) return std::string(bytes);
  std::string out;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80) out.push_back(static_cast<char>(0xC0 | byte >> 6));
    out.push_back(byte < 0x80 ? c : static_cast<char>(0x80 | (byte & 0x3F)));
  }
  return out;
}

}  // namespace tidemark::protocol
