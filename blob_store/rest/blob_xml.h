// The XML bodies of the blob protocol. Pure. Errors: kInvalidXmlDocument, kInvalidXmlNodeValue, kBlockListTooLong.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "blob_store/model/blob.h"
#include "blob_store/model/block_list.h"
#include "common/protocol/xml.h"

namespace tidemark::blob_store {

/// Writes <Name>, percent-encoded and marked as such if XML cannot carry the name.
void write_name(protocol::XmlWriter& out, std::string_view name);
void write_metadata(protocol::XmlWriter& out, const Metadata& metadata);
/// Writes <Tags>.
void write_tags(protocol::XmlWriter& out, const Tags& tags);
/// May also return the errors of model/tags.h.
Result<Tags> parse_tags(std::string_view xml);

Result<std::vector<BlockChoice>> parse_block_list(const std::string& xml);

}  // namespace tidemark::blob_store
