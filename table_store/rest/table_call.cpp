#include "table_store/rest/table_call.h"

#include <algorithm>

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
  if (wanted == "application/json;odata=nometadata") return MetadataLevel::kNone;  // the value that the SDKs send
  const auto text = to_lower_ascii(wanted);
  const auto names = [&](std::string_view part) { return text.find(part) != std::string::npos; };
  if (names("odata=nometadata")) return MetadataLevel::kNone;
  if (names("odata=fullmetadata")) return MetadataLevel::kFull;
  if (names("odata=verbose")) return fail(ErrorCode::kJsonFormatNotSupported);
  if (text.empty() || names("json") || names("*/*") || names("application/*")) return MetadataLevel::kMinimal;
  if (names("atom") || names("xml")) return fail(ErrorCode::kAtomFormatNotSupported);
  return fail(ErrorCode::kMediaTypeNotSupported);
}

Result<std::string_view> effective_method(std::string_view method, const HeaderList& headers) {
  std::optional<std::string_view> tunnelled;
  for (const auto& [name, value] : headers) {
    if (!iequals_ascii(name, "x-http-method")) continue;
    if (tunnelled || value.find(',') != std::string_view::npos) return fail(ErrorCode::kXMethodIncorrectCount);
    tunnelled = value;
  }
  if (!tunnelled) return method;
  if (method != "POST") return fail(ErrorCode::kXMethodNotUsingPost);
  for (std::string_view allowed : {"MERGE", "PATCH", "PUT", "DELETE"}) {
    if (*tunnelled == allowed) return allowed;
  }
  return fail(ErrorCode::kXMethodIncorrectValue);
}

Result<void> check_body_type(std::optional<std::string_view> content_type) {
  constexpr std::string_view kJson = "application/json";
  if (!content_type || content_type->empty() || iequals_ascii(content_type->substr(0, kJson.size()), kJson)) return {};
  const auto text = to_lower_ascii(*content_type);
  const bool atom = text.find("atom") != std::string::npos || text.find("xml") != std::string::npos;
  return fail(atom ? ErrorCode::kAtomFormatNotSupported : ErrorCode::kMediaTypeNotSupported);
}

Result<void> check_options(const QueryParameters& parameters) {
  constexpr std::string_view kOffered[] = {"$filter", "$select", "$top", "$format"};
  constexpr std::string_view kOther[] = {"$orderby", "$skip", "$expand", "$inlinecount", "$count", "$search", "$apply"};
  for (const auto& [name, value] : parameters) {
    const auto is_name = [&name](std::string_view option) { return iequals_ascii(name, option); };
    if (!name.starts_with('$') || std::ranges::find(kOffered, name) != std::end(kOffered)) continue;
    if (std::ranges::none_of(kOther, is_name)) {
      return fail(ErrorCode::kInvalidInput, "The query option " + std::string(name) + " is unknown.");
    }
    return fail(ErrorCode::kNotImplemented, "The query option " + std::string(name) +
                                                " is not offered: entities come in the order of their keys; use "
                                                "$filter, $select and $top.");
  }
  return {};
}

std::string_view json_content_type(MetadataLevel level) {
  constexpr std::string_view kTypes[] = {"application/json;odata=nometadata;streaming=true;charset=utf-8",
                                         "application/json;odata=minimalmetadata;streaming=true;charset=utf-8",
                                         "application/json;odata=fullmetadata;streaming=true;charset=utf-8"};
  return kTypes[static_cast<std::size_t>(level)];
}

Prefer parse_prefer(std::optional<std::string_view> header) {
  if (!header) return Prefer::kNone;
  if (iequals_ascii(*header, "return-no-content")) return Prefer::kNoContent;
  if (iequals_ascii(*header, "return-content")) return Prefer::kContent;
  return Prefer::kNone;
}

bool begin_created(http::Response& response, const Call& call, const std::string& location) {
  const auto prefer = parse_prefer(call.http.header("prefer"));
  const bool content = prefer != Prefer::kNoContent;
  response.status = content ? 201 : 204;
  if (!location.empty()) response.set("Location", location);
  if (!location.empty() && !content) response.set("DataServiceId", location);
  if (prefer != Prefer::kNone) response.set("Preference-Applied", content ? "return-content" : "return-no-content");
  if (content) response.set("Content-Type", json_content_type(call.level));
  return content;
}

}  // namespace tidemark::table_store
