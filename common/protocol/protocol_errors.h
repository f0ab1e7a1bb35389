// The protocol's errors, with the elements that clients print, and the document for an error. Pure.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/error.h"
#include "common/base/time.h"

namespace tidemark::protocol {

/// Without a reason, the error has just the name and the value.
Error invalid_parameter(std::string_view name, std::string_view value, std::string_view reason = {});
Error missing_parameter(std::string_view name);
Error out_of_range_parameter(std::string_view name, std::string_view value, std::int64_t min, std::int64_t max);
Error invalid_header(std::string_view name, std::string_view value, std::string_view reason = {});
Error missing_header(std::string_view name);
/// For bodies: an element is missing, or its text is not valid.
Error invalid_node(std::string_view name, std::string_view value);
Error missing_node(std::string_view name);

/// Returns the number in a parameter; nothing if it is absent. kInvalidQueryParameterValue,
/// kOutOfRangeQueryParameterValue.
Result<std::optional<std::int64_t>> number_parameter(std::string_view name, std::optional<std::string_view> text,
                                                     std::int64_t min, std::int64_t max);

/// Returns <Error> with Code, Message and the error's fields.
std::string render_error(const Error& error, std::string_view request_id, Time now);

}  // namespace tidemark::protocol
