#include "table_store/rest/table_call.h"

#include "common/base/encoding.h"

namespace tidemark::table_store {

std::optional<std::string_view> Call::parameter(std::string_view name) const { return parameters.find(name); }

Result<void> Call::allow(const auth::Need& need) const {
  return auth::authorize(identity, need, to_lower_ascii(url.table));
}

KeyBounds Call::bounds() const {
  if (identity.scheme != auth::Scheme::kServiceSas) return {};
  return {identity.start_pk, identity.start_rk, identity.end_pk, identity.end_rk};
}

Result<MetadataLevel> metadata_level(std::optional<std::string_view> format, std::optional<std::string_view> accept) {
  const auto wanted = format && !format->empty() ? *format : accept.value_or("");
  if (wanted == "application/json;odata=nometadata") return MetadataLevel::kNone;  // what the SDKs send
  std::string text = to_lower_ascii(wanted);
  if (text.find("odata=nometadata") != std::string::npos) return MetadataLevel::kNone;
  if (text.find("odata=fullmetadata") != std::string::npos) return MetadataLevel::kFull;
  bool verbose = text.find("odata=verbose") != std::string::npos;
  bool json = text.find("json") != std::string::npos || text.find("*/*") != std::string::npos;
  if (verbose || (!json && text.find("atom") != std::string::npos)) return fail(ErrorCode::kMediaTypeNotSupported);
  return MetadataLevel::kMinimal;
}

std::string_view json_content_type(MetadataLevel level) {
  switch (level) {
    case MetadataLevel::kNone:
      return "application/json;odata=nometadata;streaming=true;charset=utf-8";
    case MetadataLevel::kMinimal:
      return "application/json;odata=minimalmetadata;streaming=true;charset=utf-8";
    case MetadataLevel::kFull:
      return "application/json;odata=fullmetadata;streaming=true;charset=utf-8";
  }
  return "application/json";
}

Prefer parse_prefer(std::optional<std::string_view> header) {
  if (!header) return Prefer::kNone;
  if (iequals_ascii(*header, "return-no-content")) return Prefer::kNoContent;
  if (iequals_ascii(*header, "return-content")) return Prefer::kContent;
  return Prefer::kNone;
}

}  // namespace tidemark::table_store
