#include "common/base/error_codes.h"

namespace tidemark {

unsigned http_status_of(ErrorCode code) noexcept {
  switch (code) {
#define X(number, name, status, text) \
  case ErrorCode::k##name:            \
    return status;
    TIDEMARK_ERROR_CODES(X)
#undef X
  }
  return 500;
}

std::string_view azure_name_of(ErrorCode code) noexcept {
  // A 304 names the condition, as the service does.
  if (code == ErrorCode::kNotModified) return "ConditionNotMet";
  switch (code) {
#define X(number, name, status, text) \
  case ErrorCode::k##name:            \
    return #name;
    TIDEMARK_ERROR_CODES(X)
#undef X
  }
  return "InternalError";
}

std::string_view default_message_of(ErrorCode code) noexcept {
  switch (code) {
#define X(number, name, status, text) \
  case ErrorCode::k##name:            \
    return text;
    TIDEMARK_ERROR_CODES(X)
#undef X
  }
  return "";
}

std::optional<ErrorCode> error_code_from_number(std::uint16_t number) noexcept {
  switch (number) {
#define X(number_, name, status, text) \
  case number_:                        \
    return ErrorCode::k##name;
    TIDEMARK_ERROR_CODES(X)
#undef X
    default:
      return std::nullopt;
  }
}

}  // namespace tidemark
