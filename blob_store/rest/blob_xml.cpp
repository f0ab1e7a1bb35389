#include "blob_store/rest/blob_xml.h"

#include <pugixml.hpp>

#include "common/base/encoding.h"

namespace tidemark::blob_store {

void write_name(protocol::XmlWriter& out, std::string_view name) {
  const bool awkward =
      std::any_of(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }) ||
      name.find("\xEF\xBF\xBE") != std::string_view::npos || name.find("\xEF\xBF\xBF") != std::string_view::npos;
  if (awkward) {
    out.begin("Name").attribute("Encoded", "true").raw(percent_encode(name)).end();
  } else {
    out.element("Name", name);
  }
}

void write_metadata(protocol::XmlWriter& out, const Metadata& metadata) {
  out.begin("Metadata");
  for (const auto& [name, value] : metadata) out.element(name, protocol::as_xml_text(value));
  out.end();
}

Result<std::vector<BlockChoice>> parse_block_list(const std::string& xml) {
  // As a fragment, so that what stands outside of the one element is seen.
  constexpr unsigned kFlags = pugi::parse_default | pugi::parse_fragment;
  pugi::xml_document document;
  const auto parsed = document.load_buffer(xml.data(), xml.size(), kFlags, pugi::encoding_utf8);
  if (!parsed || document.first_child() != document.last_child()) return fail(ErrorCode::kInvalidXmlDocument);
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

}  // namespace tidemark::blob_store
