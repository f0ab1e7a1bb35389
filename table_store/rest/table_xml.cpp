#include "table_store/rest/table_xml.h"

#include <pugixml.hpp>
#include <set>
#include <sstream>

#include "common/base/encoding.h"

namespace tidemark::table_store {
namespace {

constexpr std::size_t kMaxIdentifiers = 5;
constexpr std::size_t kMaxIdLength = 64;

std::string print(const pugi::xml_document& document) {
  std::ostringstream out;
  document.save(out, "", pugi::format_raw | pugi::format_no_declaration);
  return "<?xml version=\"1.0\" encoding=\"utf-8\"?>" + out.str();
}

/// pugixml neither expands external entities nor recurses; a byte order mark is skipped by it.
Result<void> load(pugi::xml_document& document, std::string_view xml, const char* root) {
  auto result = document.load_buffer(xml.data(), xml.size(), pugi::parse_default, pugi::encoding_utf8);
  if (!result || !document.child(root)) return fail(ErrorCode::kInvalidXmlDocument);
  return {};
}

pugi::xml_node add(pugi::xml_node parent, const char* name) { return parent.append_child(name); }

void add_text(pugi::xml_node parent, const char* name, const std::string& text) {
  parent.append_child(name).text().set(text.c_str());
}

std::optional<std::string> text_of(pugi::xml_node parent, const char* name) {
  auto node = parent.child(name);
  std::string text = node.text().get();
  if (!node || text.empty()) return std::nullopt;
  return text;
}

std::string seven_digits(const std::string& date) {
  auto time = parse_iso8601(date);
  return time ? to_iso8601_7digits(*time) : date;
}

Result<SignedIdentifier> parse_identifier(pugi::xml_node node) {
  SignedIdentifier out;
  out.id = node.child("Id").text().get();
  if (out.id.empty() || utf16_length(out.id) > kMaxIdLength) return fail(ErrorCode::kInvalidXmlNodeValue);
  auto policy = node.child("AccessPolicy");
  out.start = text_of(policy, "Start");
  out.expiry = text_of(policy, "Expiry");
  out.permission = text_of(policy, "Permission");
  for (const auto& date : {out.start, out.expiry}) {
    if (date && !parse_iso8601(*date)) return fail(ErrorCode::kInvalidXmlNodeValue);
  }
  if (out.permission && out.permission->find_first_not_of("raud") != std::string::npos) {
    return fail(ErrorCode::kInvalidXmlNodeValue);
  }
  return out;
}

}  // namespace

std::string acl_xml(const std::vector<SignedIdentifier>& identifiers) {
  pugi::xml_document document;
  auto root = document.append_child("SignedIdentifiers");
  for (const auto& identifier : identifiers) {
    auto node = add(root, "SignedIdentifier");
    add_text(node, "Id", identifier.id);
    if (!identifier.start && !identifier.expiry && !identifier.permission) continue;
    auto policy = add(node, "AccessPolicy");
    if (identifier.start) add_text(policy, "Start", seven_digits(*identifier.start));
    if (identifier.expiry) add_text(policy, "Expiry", seven_digits(*identifier.expiry));
    if (identifier.permission) add_text(policy, "Permission", *identifier.permission);
  }
  return print(document);
}

Result<std::vector<SignedIdentifier>> parse_acl_xml(std::string_view xml) {
  std::vector<SignedIdentifier> out;
  if (xml.empty()) return out;
  pugi::xml_document document;
  if (auto loaded = load(document, xml, "SignedIdentifiers"); !loaded) return fail(std::move(loaded.error()));
  std::set<std::string> ids;
  for (auto node : document.child("SignedIdentifiers").children("SignedIdentifier")) {
    if (out.size() == kMaxIdentifiers) return fail(ErrorCode::kInvalidXmlDocument);
    auto identifier = parse_identifier(node);
    if (!identifier) return fail(std::move(identifier.error()));
    if (!ids.insert(identifier->id).second) return fail(ErrorCode::kInvalidXmlDocument);
    out.push_back(std::move(*identifier));
  }
  return out;
}

}  // namespace tidemark::table_store
