// Errors as values. Ignoring a Result is a compile error. With TRY and CO_TRY, a function reads from top to bottom like
// a list of its steps, and returns at the first error.
//
//   auto row = TRY(txn.get(key));                     in a function that returns a Result
//   auto page = CO_TRY(co_await tables.query(where));  in a coroutine
//   CO_TRY(co_await tables.erase(std::move(page.rows.front())));
#pragma once
#include <expected>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/base/error_codes.h"

namespace tidemark {

struct Error {
  ErrorCode code = ErrorCode::kInternalError;
  std::string message;  // for the client; names the remedy
  std::string detail;   // for the log only; may contain paths and internals, but no secrets
  // Further elements of the protocol's error body, such as QueryParameterName, in order.
  std::vector<std::pair<std::string, std::string>> fields;
};

inline Error make_error(ErrorCode code) { return {code, std::string(default_message_of(code)), {}, {}}; }
inline Error make_error(ErrorCode code, std::string message) { return {code, std::move(message), {}, {}}; }
/// An error with the usual message for the client, and `detail` for the log.
inline Error error_for_log(ErrorCode code, std::string detail) {
  return {code, std::string(default_message_of(code)), std::move(detail), {}};
}
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

namespace detail {
/// The value of a successful result: moved out of a temporary, copied out of a variable.
template <class R>
auto value_of(R&& result) {
  if constexpr (!std::is_void_v<typename std::remove_cvref_t<R>::value_type>) return *std::forward<R>(result);
}
}  // namespace detail

// These are statement expressions, which GCC 12 cannot compile inside coroutines. The counter keeps the names of nested
// uses distinct.
#define TIDEMARK_TRY_AS(leave, result, ...)                                   \
  ({                                                                          \
    auto&& result = (__VA_ARGS__);                                            \
    if (!result) [[unlikely]]                                                 \
      leave ::tidemark::fail(std::forward<decltype(result)>(result).error()); \
    ::tidemark::detail::value_of(std::forward<decltype(result)>(result));     \
  })
#define TIDEMARK_TRY_NAMED(leave, number, ...) TIDEMARK_TRY_AS(leave, tidemark_tried_##number, __VA_ARGS__)
#define TIDEMARK_TRY(leave, number, ...) TIDEMARK_TRY_NAMED(leave, number, __VA_ARGS__)

/// Gives the value of a Result, or returns its error from the function.
#define TRY(...) TIDEMARK_TRY(return, __COUNTER__, __VA_ARGS__)
/// Does the same in a coroutine, with `co_return`.
#define CO_TRY(...) TIDEMARK_TRY(co_return, __COUNTER__, __VA_ARGS__)

}  // namespace tidemark
