#include "queue_service/rest/queue_request.h"

#include <charconv>

#include "common/base/encoding.h"

namespace tidemark::queue_service::rest {

std::optional<std::string_view> QueueRequest::parameter(std::string_view name) const {
  for (const auto& [key, value] : parameters) {
    if (iequals_ascii(key, name)) return value;
  }
  return std::nullopt;
}

bool QueueRequest::parameter_is(std::string_view name, std::string_view value) const {
  const auto given = parameter(name);
  return given && iequals_ascii(*given, value);
}

Error missing_parameter(std::string_view name) {
  auto error = make_error(ErrorCode::kMissingRequiredQueryParameter);
  error.fields.emplace_back("QueryParameterName", name);
  return error;
}

Error invalid_parameter(std::string_view name, std::string_view value, std::string_view reason) {
  auto error = make_error(ErrorCode::kInvalidQueryParameterValue);
  error.fields.emplace_back("QueryParameterName", name);
  error.fields.emplace_back("QueryParameterValue", value);
  error.fields.emplace_back("Reason", reason);
  return error;
}

Error out_of_range_parameter(std::string_view name, std::string_view value, std::int64_t min, std::int64_t max) {
  auto error = make_error(ErrorCode::kOutOfRangeQueryParameterValue);
  error.fields.emplace_back("QueryParameterName", name);
  error.fields.emplace_back("QueryParameterValue", value);
  error.fields.emplace_back("MinimumAllowed", std::to_string(min));
  error.fields.emplace_back("MaximumAllowed", std::to_string(max));
  return error;
}

Result<std::optional<std::int64_t>> QueueRequest::number(std::string_view name, std::int64_t min,
                                                         std::int64_t max) const {
  const auto text = parameter(name);
  if (!text) return std::optional<std::int64_t>();
  std::int64_t value = 0;
  const auto [end, status] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (status == std::errc::result_out_of_range) return fail(out_of_range_parameter(name, *text, min, max));
  if (status != std::errc() || end != text->data() + text->size()) {
    return fail(invalid_parameter(name, *text, "Failed to parse the value as a number."));
  }
  if (value < min || value > max) return fail(out_of_range_parameter(name, *text, min, max));
  return std::optional<std::int64_t>(value);
}

Result<void> split_resource(std::string_view rest, QueueRequest& request) {
  while (rest.ends_with('/')) rest.remove_suffix(1);
  std::vector<std::string> parts;
  while (!rest.empty()) {
    const auto slash = rest.find('/');
    auto part = percent_decode(rest.substr(0, slash), false);
    if (!part) return fail(ErrorCode::kInvalidUri);
    parts.push_back(std::move(*part));
    rest.remove_prefix(slash == std::string_view::npos ? rest.size() : slash + 1);
  }
  if (parts.size() > 3 || (parts.size() > 1 && !iequals_ascii(parts[1], "messages"))) {
    return fail(ErrorCode::kInvalidUri);
  }
  if (!parts.empty()) request.queue = std::move(parts[0]);
  request.messages = parts.size() > 1;
  if (parts.size() > 2) request.message_id = to_lower_ascii(parts[2]);
  return {};
}

}  // namespace tidemark::queue_service::rest
