#include "blob_store/rest/blob_xml.h"

#include <pugixml.hpp>
#include <set>

#include "common/base/encoding.h"

namespace tidemark::blob_store {
namespace {

constexpr std::size_t kMaxPolicies = 5;

Result<void> load(pugi::xml_document& document, const std::string& xml) {
  if (!document.load_buffer(xml.data(), xml.size(), pugi::parse_default, pugi::encoding_utf8)) {
    return fail(ErrorCode::kInvalidXmlDocument);
  }
  return {};
}

std::optional<std::string> child_text(const pugi::xml_node& node, const char* name) {
  const auto child = node.child(name);
  if (!child || child.text().empty()) return std::nullopt;
  return std::string(child.text().get());
}

}  // namespace

std::string escape_xml(std::string_view text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string name_element(std::string_view name) {
  const bool awkward =
      std::any_of(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }) ||
      name.find("\xEF\xBF\xBE") != std::string_view::npos || name.find("\xEF\xBF\xBF") != std::string_view::npos;
  if (awkward) return "<Name Encoded=\"true\">" + percent_encode(name) + "</Name>";
  return element("Name", name);
}

std::string element(std::string_view name, std::string_view text) {
  std::string out("<");
  if (text.empty()) return out.append(name).append(" />");
  return out.append(name).append(">").append(escape_xml(text)).append("</").append(name).append(">");
}

std::string metadata_element(const Metadata& metadata) {
  if (metadata.empty()) return "<Metadata />";
  std::string out("<Metadata>");
  for (const auto& [name, value] : metadata) out += element(name, value);
  return out + "</Metadata>";
}

Result<std::vector<BlockChoice>> parse_block_list(const std::string& xml) {
  pugi::xml_document document;
  if (auto loaded = load(document, xml); !loaded) return fail(std::move(loaded.error()));
  const auto root = document.child("BlockList");
  if (!root) return fail(ErrorCode::kInvalidXmlDocument);
  std::vector<BlockChoice> choices;
  for (const auto& node : root.children()) {
    const std::string_view name = node.name();
    BlockChoice choice;
    if (name == "Committed") {
      choice.source = BlockSource::kCommitted;
    } else if (name == "Uncommitted") {
      choice.source = BlockSource::kUncommitted;
    } else if (name != "Latest") {
      return fail(ErrorCode::kInvalidXmlDocument);
    }
    choice.id = node.text().get();
    if (choices.size() == kMaxBlocksInList) return fail(ErrorCode::kBlockListTooLong);
    choices.push_back(std::move(choice));
  }
  return choices;
}

Result<std::vector<AccessPolicy>> parse_access_policies(const std::string& xml) {
  std::vector<AccessPolicy> policies;
  if (xml.empty()) return policies;
  pugi::xml_document document;
  if (auto loaded = load(document, xml); !loaded) return fail(std::move(loaded.error()));
  const auto root = document.child("SignedIdentifiers");
  if (!root) return fail(ErrorCode::kInvalidXmlDocument);
  std::set<std::string> ids;
  for (const auto& node : root.children("SignedIdentifier")) {
    AccessPolicy policy;
    policy.id = node.child("Id").text().get();
    const auto terms = node.child("AccessPolicy");
    policy.start = child_text(terms, "Start");
    policy.expiry = child_text(terms, "Expiry");
    policy.permission = child_text(terms, "Permission");
    if (policy.id.empty() || utf16_length(policy.id) > 64 || policies.size() == kMaxPolicies ||
        !ids.insert(policy.id).second) {
      return fail(ErrorCode::kInvalidXmlDocument);
    }
    for (const auto* date : {&policy.start, &policy.expiry}) {
      if (*date && !parse_iso8601(**date)) return fail(ErrorCode::kInvalidXmlNodeValue);
    }
    policies.push_back(std::move(policy));
  }
  return policies;
}

std::string render_access_policies(const std::vector<AccessPolicy>& policies) {
  if (policies.empty()) return "<SignedIdentifiers />";
  std::string out("<SignedIdentifiers>");
  for (const auto& policy : policies) {
    out += "<SignedIdentifier>" + element("Id", policy.id) + "<AccessPolicy>";
    if (policy.start) out += element("Start", to_iso8601_7digits(parse_iso8601(*policy.start).value_or(Time{})));
    if (policy.expiry) out += element("Expiry", to_iso8601_7digits(parse_iso8601(*policy.expiry).value_or(Time{})));
    if (policy.permission) out += element("Permission", *policy.permission);
    out += "</AccessPolicy></SignedIdentifier>";
  }
  return out + "</SignedIdentifiers>";
}

std::string render_error(const Error& error, const std::string& request_id, Time now) {
  // 304 and 412 are one error on the wire.
  const auto code = error.code == ErrorCode::kNotModified ? ErrorCode::kConditionNotMet : error.code;
  auto out = "<Error>" + element("Code", azure_name_of(code)) +
             element("Message", error.message + "\nRequestId:" + request_id + "\nTime:" + to_iso8601_7digits(now));
  for (const auto& [name, value] : error.fields) out += element(name, value);
  return out + "</Error>";
}

}  // namespace tidemark::blob_store
