// Sums of numbers of entities. Pure.
#pragma once
#include <string_view>

#include "common/base/error.h"
#include "table_store/model/entity.h"

namespace tidemark::table_store {

/// Tells whether the value is an Int32, an Int64 or a Double.
bool is_number(const Value& value);
/// Returns `value` and `amount` added up, in the type of `value`. kInvalidInput, with the name of the property, if one
/// of them is no number, if the sum does not fit into the type, or if a part of it would be lost.
Result<Value> sum_of(std::string_view name, const Value& value, const Value& amount);
/// Returns the amount with the other sign. kInvalidInput if it is no number, or has no opposite.
Result<Value> opposite_of(std::string_view name, const Value& amount);

}  // namespace tidemark::table_store
