// Bodies of the storage protocol: small documents of elements and text, white space kept exactly. Pure.
#pragma once
#include <string_view>

#include "common/base/error.h"

namespace pugi {
class xml_document;
}

namespace tidemark::protocol {

inline constexpr std::string_view kXmlDeclaration = R"(<?xml version="1.0" encoding="utf-8"?>)";

/// Parses a body strictly, with a bound on its structure; no DTD, a byte order mark is allowed. kInvalidXmlDocument.
Result<void> parse_xml(std::string_view body, pugi::xml_document& document);

}  // namespace tidemark::protocol
