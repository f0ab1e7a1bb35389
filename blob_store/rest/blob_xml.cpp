#include "blob_store/rest/blob_xml.h"

#include <pugixml.hpp>

#include "common/base/encoding.h"
#include "common/base/xml_text.h"

namespace tidemark::blob_store {
namespace {

Result<void> load(pugi::xml_document& document, const std::string& xml) {
  // As a fragment, so that what stands outside of the one element is seen.
  constexpr unsigned kFlags = pugi::parse_default | pugi::parse_fragment;
  if (!document.load_buffer(xml.data(), xml.size(), kFlags, pugi::encoding_utf8)) {
    return fail(ErrorCode::kInvalidXmlDocument);
  }
  if (document.first_child() != document.last_child()) return fail(ErrorCode::kInvalidXmlDocument);
  return {};
}

/// Headers may be stored with any bytes above the controls; those that are no text of XML are read as Latin-1, so that
/// one blob cannot spoil the list it stands in.
std::string as_xml_text(std::string_view text) {
  if (is_xml_text(text)) return std::string(text);
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80) out.push_back(static_cast<char>(0xC0 | byte >> 6));
    out.push_back(byte < 0x80 ? c : static_cast<char>(0x80 | (byte & 0x3F)));
  }
  return out;
}

}  // namespace

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
  return out.append(name).append(">").append(escaped(as_xml_text(text))).append("</").append(name).append(">");
}

std::string metadata_element(const Metadata& metadata) {
  if (metadata.empty()) return "<Metadata />";
  std::string out("<Metadata>");
  for (const auto& [name, value] : metadata) out += element(name, value);
  return out + "</Metadata>";
}

Result<std::vector<BlockChoice>> parse_block_list(const std::string& xml) {
  pugi::xml_document document;
  TRY(load(document, xml));
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

std::string render_error(const Error& error, const std::string& request_id, Time now) {
  // 304 and 412 are one error on the wire.
  const auto code = error.code == ErrorCode::kNotModified ? ErrorCode::kConditionNotMet : error.code;
  auto out = "<Error>" + element("Code", azure_name_of(code)) +
             element("Message", error.message + "\nRequestId:" + request_id + "\nTime:" + to_iso8601_7digits(now));
  for (const auto& [name, value] : error.fields) out += element(name, value);
  return out + "</Error>";
}

}  // namespace tidemark::blob_store
