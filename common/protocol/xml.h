// Bodies of the storage protocol: small documents of elements and text, white space kept exactly. Pure.
#pragma once
#include <array>
#include <concepts>
#include <string>
#include <string_view>

#include "common/base/error.h"

namespace pugi {
class xml_document;
}

namespace tidemark::protocol {

inline constexpr std::string_view kXmlDeclaration = R"(<?xml version="1.0" encoding="utf-8"?>)";

/// Parses a body strictly, with a bound on its structure; no DTD, a byte order mark is allowed. kInvalidXmlDocument.
Result<void> parse_xml(std::string_view body, pugi::xml_document& document);

/// Writes a document from front to back. An element without content is <Name />. Every begin() is ended by end(), or by
/// take(); the name of the element must live that long.
class XmlWriter {
 public:
  /// `head` is written before the root.
  explicit XmlWriter(std::string_view head = kXmlDeclaration) : out_(head) {}

  XmlWriter& begin(std::string_view name);
  /// Adds an attribute to the element just begun.
  XmlWriter& attribute(std::string_view name, std::string_view value);
  XmlWriter& element(std::string_view name, std::string_view text);
  XmlWriter& element(std::string_view name, const char* text) { return element(name, std::string_view(text)); }
  XmlWriter& element(std::string_view name, std::integral auto number) {
    return element(name, std::string_view(std::to_string(number)));
  }
  XmlWriter& element(std::string_view name, bool value) { return element(name, value ? "true" : "false"); }
  /// Adds the element unless the text is empty.
  XmlWriter& optional_element(std::string_view name, std::string_view text) {
    return text.empty() ? *this : element(name, text);
  }
  /// Adds text inside the element begun last.
  XmlWriter& text(std::string_view text);
  /// Adds text that is XML already.
  XmlWriter& raw(std::string_view xml);
  XmlWriter& end();
  std::string take();

 private:
  static constexpr std::size_t kMaxDepth = 8;

  void finish_tag();

  std::string out_;
  std::array<std::string_view, kMaxDepth> open_;
  std::size_t depth_ = 0;
  bool in_tag_ = false;  // the innermost element still lacks its '>'
};

/// Reads bytes that are not valid XML text as Latin-1, so that one header, stored as it came, cannot spoil the document
/// that contains it.
std::string as_xml_text(std::string_view bytes);

}  // namespace tidemark::protocol
