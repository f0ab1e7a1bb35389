// Errors as values. A Result that is not looked at is a compile error (with -Werror).
#pragma once
#include <expected>
#include <string>
#include <utility>
#include <vector>

#include "common/base/error_codes.h"

namespace tidemark {

struct Error {
  ErrorCode code = ErrorCode::kInternalError;
  std::string message;  // for the client: says what to do
  std::string detail;   // for the log only: may name paths and internals, never secrets
  // Further elements of the protocol's error body, such as QueryParameterName; in order.
  std::vector<std::pair<std::string, std::string>> fields;
};

inline Error make_error(ErrorCode code) { return {code, std::string(default_message_of(code)), {}, {}}; }
inline Error make_error(ErrorCode code, std::string message) { return {code, std::move(message), {}, {}}; }
inline std::unexpected<Error> fail(ErrorCode code) { return std::unexpected(make_error(code)); }
inline std::unexpected<Error> fail(ErrorCode code, std::string message) {
  return std::unexpected(make_error(code, std::move(message)));
}
inline std::unexpected<Error> fail(Error error) { return std::unexpected(std::move(error)); }

template <class T>
struct [[nodiscard]] Result : std::expected<T, Error> {
  using std::expected<T, Error>::expected;
  [[nodiscard]] bool failed_with(ErrorCode code) const { return !this->has_value() && this->error().code == code; }
};

}  // namespace tidemark
