#include "table_store/model/amounts.h"

#include <cmath>
#include <limits>
#include <string>

namespace tidemark::table_store {
namespace {

std::unexpected<Error> no_number(std::string_view name) {
  return fail(ErrorCode::kInvalidInput, "'" + std::string(name) + "' is not a number, so nothing can be added to it.");
}

std::unexpected<Error> no_room(std::string_view name) {
  return fail(ErrorCode::kInvalidInput, "The sum does not fit into the type of '" + std::string(name) + "'.");
}

std::optional<std::int64_t> whole(const Value& value) {
  if (const auto* number = std::get_if<std::int32_t>(&value)) return *number;
  if (const auto* number = std::get_if<std::int64_t>(&value)) return *number;
  return std::nullopt;
}

std::optional<double> real(const Value& value) {
  if (const auto* number = std::get_if<double>(&value)) return *number;
  if (const auto number = whole(value)) return static_cast<double>(*number);
  return std::nullopt;
}

Result<Value> add_whole(std::string_view name, std::int64_t value, std::int64_t amount, bool in_32_bits) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(value, amount, &sum)) return no_room(name);
  if (!in_32_bits) return Value(sum);
  if (sum < std::numeric_limits<std::int32_t>::min() || sum > std::numeric_limits<std::int32_t>::max()) {
    return no_room(name);
  }
  return Value(static_cast<std::int32_t>(sum));
}

}  // namespace

bool is_number(const Value& value) { return real(value).has_value(); }

Result<Value> sum_of(std::string_view name, const Value& value, const Value& amount) {
  if (!is_number(value) || !is_number(amount)) return no_number(name);
  if (std::holds_alternative<double>(value)) return Value(*real(value) + *real(amount));
  const auto added = whole(amount);
  if (!added) {
    return fail(ErrorCode::kInvalidInput,
                "'" + std::string(name) + "' is a whole number, so no Double can be added to it.");
  }
  return add_whole(name, *whole(value), *added, std::holds_alternative<std::int32_t>(value));
}

Result<Value> opposite_of(std::string_view name, const Value& amount) {
  if (const auto* number = std::get_if<double>(&amount)) return Value(-*number);
  const auto number = whole(amount);
  if (!number) return no_number(name);
  if (*number == std::numeric_limits<std::int64_t>::min()) return no_room(name);
  return add_whole(name, 0, -*number, std::holds_alternative<std::int32_t>(amount));
}

}  // namespace tidemark::table_store
