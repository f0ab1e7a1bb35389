// The XML bodies of the blob protocol. Pure. Errors: kInvalidXmlDocument, kInvalidXmlNodeValue, kBlockListTooLong.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "blob_store/model/block_list.h"
#include "common/base/error.h"

namespace tidemark::blob_store {

/// <Name>, percent-encoded and marked so if XML cannot carry the name.
std::string name_element(std::string_view name);
std::string element(std::string_view name, std::string_view text);
std::string metadata_element(const Metadata& metadata);

Result<std::vector<BlockChoice>> parse_block_list(const std::string& xml);
std::string render_error(const Error& error, const std::string& request_id, Time now);

}  // namespace tidemark::blob_store
