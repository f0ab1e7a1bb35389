#include "blob_store/rest/blob_xml.h"

#include <pugixml.hpp>

#include "blob_store/model/tags.h"
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

void write_tags(protocol::XmlWriter& out, const Tags& tags) {
  out.begin("Tags").begin("TagSet");
  for (const auto& [key, value] : tags) out.begin("Tag").element("Key", key).element("Value", value).end();
  out.end().end();
}

Result<Tags> parse_tags(std::string_view xml) {
  pugi::xml_document document;
  TRY(protocol::parse_xml(xml, document));
  const auto set = document.child("Tags").child("TagSet");
  if (!set) return fail(ErrorCode::kInvalidXmlDocument);
  Tags tags;
  for (const auto& node : set.children()) {
    if (node.type() != pugi::node_element) continue;
    const auto key = node.child("Key");
    const auto value = node.child("Value");
    if (std::string_view(node.name()) != "Tag" || !key || !value) return fail(ErrorCode::kInvalidXmlDocument);
    tags.emplace_back(key.text().get(), value.text().get());
  }
  return checked_tags(std::move(tags));
}

Result<std::vector<BlockChoice>> parse_block_list(const std::string& xml) {
  // An entry has two tags. They are counted before a tree is built, which takes twenty times as much memory.
  constexpr std::ptrdiff_t kMostTags = 2 * static_cast<std::ptrdiff_t>(kMaxBlocksInList) + 16;
  if (std::ranges::count(xml, '<') > kMostTags) return fail(ErrorCode::kBlockListTooLong);
  // Parsed as a fragment, so that text outside the one element is noticed.
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
