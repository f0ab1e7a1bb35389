#include "common/protocol/protocol_errors.h"

#include "common/base/numbers.h"
#include "common/protocol/xml.h"

namespace tidemark::protocol {
namespace {

Error with_fields(ErrorCode code, std::vector<std::pair<std::string, std::string>> fields, std::string_view reason) {
  auto error = make_error(code);
  error.fields = std::move(fields);
  if (!reason.empty()) error.fields.emplace_back("Reason", reason);
  return error;
}

}  // namespace

Error invalid_parameter(std::string_view name, std::string_view value, std::string_view reason) {
  return with_fields(ErrorCode::kInvalidQueryParameterValue,
                     {{"QueryParameterName", std::string(name)}, {"QueryParameterValue", std::string(value)}}, reason);
}

Error missing_parameter(std::string_view name) {
  return with_fields(ErrorCode::kMissingRequiredQueryParameter, {{"QueryParameterName", std::string(name)}}, {});
}

Error out_of_range_parameter(std::string_view name, std::string_view value, std::int64_t min, std::int64_t max) {
  return with_fields(ErrorCode::kOutOfRangeQueryParameterValue,
                     {{"QueryParameterName", std::string(name)},
                      {"QueryParameterValue", std::string(value)},
                      {"MinimumAllowed", std::to_string(min)},
                      {"MaximumAllowed", std::to_string(max)}},
                     {});
}

Error invalid_header(std::string_view name, std::string_view value, std::string_view reason) {
  return with_fields(ErrorCode::kInvalidHeaderValue,
                     {{"HeaderName", std::string(name)}, {"HeaderValue", std::string(value)}}, reason);
}

Error missing_header(std::string_view name) {
  return with_fields(ErrorCode::kMissingRequiredHeader, {{"HeaderName", std::string(name)}}, {});
}

Error invalid_node(std::string_view name, std::string_view value) {
  return with_fields(ErrorCode::kInvalidXmlNodeValue,
                     {{"XmlNodeName", std::string(name)}, {"XmlNodeValue", std::string(value)}}, {});
}

Error missing_node(std::string_view name) {
  return with_fields(ErrorCode::kMissingRequiredXmlNode, {{"XmlNodeName", std::string(name)}}, {});
}

Result<std::optional<std::int64_t>> number_parameter(std::string_view name, std::optional<std::string_view> text,
                                                     std::int64_t min, std::int64_t max) {
  if (!text) return std::nullopt;
  const auto value = parse_nearest<std::int64_t>(*text);
  if (!value) return fail(invalid_parameter(name, *text, "Failed to parse the value as a number."));
  if (*value < min || *value > max) return fail(out_of_range_parameter(name, *text, min, max));
  return value;
}

std::string render_error(const Error& error, std::string_view request_id, Time now) {
  auto message = error.message.empty() ? std::string(default_message_of(error.code)) : error.message;
  message.append("\nRequestId:").append(request_id).append("\nTime:").append(to_iso8601_7digits(now));
  XmlWriter out;
  out.begin("Error").element("Code", azure_name_of(error.code)).element("Message", message);
  for (const auto& [name, value] : error.fields) out.element(name, as_xml_text(value));
  return out.take();
}

}  // namespace tidemark::protocol
