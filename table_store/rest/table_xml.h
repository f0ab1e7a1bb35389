// The XML bodies of the table service: stored access policies, service properties, statistics. By pugixml, whose types
// stay in the source file. No state. Errors: kInvalidXmlDocument, kInvalidXmlNodeValue.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "common/base/time.h"
#include "table_store/storage/table_service.h"

namespace tidemark::table_store {

inline constexpr std::size_t kMaxXml = 64UL << 10;

std::string acl_xml(const std::vector<SignedIdentifier>& identifiers);
/// At most five, with distinct ids of up to 64 characters.
Result<std::vector<SignedIdentifier>> parse_acl_xml(std::string_view xml);

}  // namespace tidemark::table_store
