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

/// `stored` is what merge_service_properties made, or empty for an account that never set any.
std::string service_properties_xml(const std::string& stored);
/// The stored form after a PUT of `xml`: sections that it leaves out keep their old values.
Result<std::string> merge_service_properties(const std::string& stored, std::string_view xml);

std::string service_stats_xml(Time now);

/// A CORS rule, of at most five.
struct CorsRule {
  std::vector<std::string> origins, methods, allowed_headers, exposed_headers;
  std::string max_age;
};
std::vector<CorsRule> cors_rules(const std::string& stored);

}  // namespace tidemark::table_store
