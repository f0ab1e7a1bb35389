#include "common/base/error_codes.h"

#include <algorithm>
#include <iterator>

namespace tidemark {
namespace {

struct Row {
  std::uint16_t number;
  std::string_view name;
  unsigned status;
  std::string_view message;
};
constexpr Row kRows[] = {
#define X(number, name, status, text) {number, #name, status, text},
    TIDEMARK_ERROR_CODES(X)
#undef X
};
static_assert(std::ranges::is_sorted(kRows, {}, &Row::number));

const Row& row_of(ErrorCode code) noexcept {
  const auto* const row = std::ranges::lower_bound(kRows, static_cast<std::uint16_t>(code), {}, &Row::number);
  return row == std::end(kRows) || row->number != static_cast<std::uint16_t>(code) ? row_of(ErrorCode::kInternalError)
                                                                                   : *row;
}

}  // namespace

unsigned http_status_of(ErrorCode code) noexcept { return row_of(code).status; }

std::string_view azure_name_of(ErrorCode code) noexcept {
  // As in the service, a 304 has the name of the condition, and an invalid token has no name of its own.
  if (code == ErrorCode::kNotModified) code = ErrorCode::kConditionNotMet;
  if (code == ErrorCode::kBearerTokenInvalid) code = ErrorCode::kInvalidAuthenticationInfo;
  return row_of(code).name;
}

std::string_view default_message_of(ErrorCode code) noexcept { return row_of(code).message; }

std::optional<ErrorCode> error_code_from_number(std::uint16_t number) noexcept {
  const bool known = std::ranges::binary_search(kRows, number, {}, &Row::number);
  return known ? std::optional(static_cast<ErrorCode>(number)) : std::nullopt;
}

}  // namespace tidemark
