// The XML bodies of the blob protocol. Pure. Errors: kInvalidXmlDocument, kInvalidXmlNodeValue, kBlockListTooLong.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "blob_store/model/blob.h"
#include "blob_store/model/block_list.h"
#include "common/protocol/xml.h"

namespace tidemark::blob_store {

/// <Name>, percent-encoded and marked so if XML cannot carry the name.
void write_name(protocol::XmlWriter& out, std::string_view name);
void write_metadata(protocol::XmlWriter& out, const Metadata& metadata);

Result<std::vector<BlockChoice>> parse_block_list(const std::string& xml);

}  // namespace tidemark::blob_store
