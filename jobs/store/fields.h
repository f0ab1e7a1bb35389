// Tables of the members of a struct and the names under which they are stored, as properties of a row or members of
// JSON, whose names begin in lower case. They are used for reading and writing. Reading is tolerant: if a value is
// absent or of another type, the member stays as it is. Pure.
#pragma once
#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "common/base/time.h"
#include "jobs/spec/shown.h"
#include "table_store/model/entity.h"

namespace tidemark::jobs {

template <class Row, class Member>
struct Field {
  std::string_view name;
  Member Row::* member;
  bool sparse = false;  // not written if it is empty or zero
};
inline constexpr bool kSparse = true;

namespace detail {

/// Numbers are stored signed: as Int32 for 32 bits, as Int64 for 64.
template <std::unsigned_integral T>
std::make_signed_t<T> stored(T number) {
  using Signed = std::make_signed_t<T>;
  return static_cast<Signed>(std::min<T>(number, static_cast<T>(std::numeric_limits<Signed>::max())));
}

template <class T>
bool narrow(std::int64_t number, T& into) {
  if (std::is_unsigned_v<T> && number < 0) return false;
  if constexpr (sizeof(T) < sizeof number) {
    number = std::clamp<std::int64_t>(number, std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
  }
  into = static_cast<T>(number);
  return true;
}

template <class T>
table_store::Value value_of(const T& member) {
  if constexpr (std::unsigned_integral<T> && !std::same_as<T, bool>) {
    return stored(member);
  } else {
    return member;
  }
}

/// Returns false if the value has another type.
template <class T>
bool take(const table_store::Value& value, T& into) {
  if constexpr (kIsOptional<T>) {
    return take(value, into.emplace()) || (into.reset(), false);
  } else if constexpr (std::integral<T> && !std::same_as<T, bool>) {
    // SDKs may have written a small number as Int32.
    if (const auto* wide = std::get_if<std::int64_t>(&value)) return narrow(*wide, into);
    const auto* number = std::get_if<std::int32_t>(&value);
    return number != nullptr && narrow(*number, into);
  } else {
    const auto* found = std::get_if<T>(&value);
    if (found != nullptr) into = *found;
    return found != nullptr;
  }
}

template <class T>
nlohmann::json json_of(const T& member) {
  if constexpr (std::same_as<T, Time>) {
    return to_iso8601(member);
  } else {
    return member;
  }
}

template <class T>
bool take(const nlohmann::json& value, T& into) {
  if constexpr (kIsOptional<T>) {
    return take(value, into.emplace()) || (into.reset(), false);
  } else if constexpr (std::same_as<T, Time>) {
    const auto time = value.is_string() ? parse_iso8601(value.get_ref<const std::string&>()) : std::nullopt;
    if (time) into = *time;
    return time.has_value();
  } else if constexpr (std::same_as<T, bool>) {
    if (value.is_boolean()) into = value.get<bool>();
    return value.is_boolean();
  } else if constexpr (std::integral<T>) {
    return value.is_number_integer() && narrow(value.get<std::int64_t>(), into);
  } else {
    if (value.is_string()) into = value.get<std::string>();
    return value.is_string();
  }
}

/// Calls `put(name, member)` for each member that is to be written.
template <class Row, class... Members>
void for_each_written(const Row& row, const std::tuple<Field<Row, Members>...>& fields, auto put) {
  const auto one = [&]<class Member>(const Field<Row, Member>& field) {
    const auto& member = row.*field.member;
    if constexpr (kIsOptional<Member>) {
      if (member) put(std::string(field.name), *member);
    } else {
      if (!field.sparse || !(member == Member{})) put(std::string(field.name), member);
    }
  };
  std::apply([&](const auto&... each) { (one(each), ...); }, fields);
}

}  // namespace detail

template <class Row, class... Members>
void add_properties(std::vector<table_store::Property>& out, const Row& row,
                    const std::tuple<Field<Row, Members>...>& fields) {
  detail::for_each_written(row, fields, [&](std::string name, const auto& member) {
    out.push_back({std::move(name), detail::value_of(member)});
  });
}

/// Returns false if a property has another type than its member.
template <class Row, class... Members>
bool read_properties(const table_store::Entity& entity, Row& row, const std::tuple<Field<Row, Members>...>& fields) {
  bool good = true;
  const auto one = [&](const auto& field) {
    const auto* value = entity.find(field.name);
    if (value != nullptr && !detail::take(*value, row.*field.member)) good = false;
  };
  std::apply([&](const auto&... each) { (one(each), ...); }, fields);
  return good;
}

template <class Row, class... Members>
void add_members(nlohmann::json& out, const Row& row, const std::tuple<Field<Row, Members>...>& fields) {
  detail::for_each_written(row, fields, [&](std::string name, const auto& member) {
    if (name.front() >= 'A' && name.front() <= 'Z') name.front() += 'a' - 'A';
    out[name] = detail::json_of(member);
  });
}

template <class Row, class... Members>
void read_members(const nlohmann::json& object, Row& row, const std::tuple<Field<Row, Members>...>& fields) {
  if (!object.is_object()) return;
  const auto one = [&](const auto& field) {
    const auto found = object.find(field.name);
    if (found != object.end()) detail::take(*found, row.*field.member);
  };
  std::apply([&](const auto&... each) { (one(each), ...); }, fields);
}

}  // namespace tidemark::jobs
