// How the values of an answer's members look as JSON, and the schemas of their types. SpecMembers::shows() uses it.
// Pure.
#pragma once
#include <nlohmann/json.hpp>

#include <concepts>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/time.h"
#include "jobs/spec/description.h"

namespace tidemark::jobs {

class SpecMembers;
template <class T>
nlohmann::ordered_json members_json(T value);
template <class T>
std::vector<Member> members_of(T value, Use use);

/// A type that names its members.
template <class T>
concept HasMembers = requires(T value, SpecMembers& in) { value.members(in); };
/// One whose schema has a name in openapi.json.
template <class T>
concept HasSchema = HasMembers<T> && requires { T::kSchema; };
template <class T>
concept IsJson = std::same_as<T, nlohmann::json> || std::same_as<T, nlohmann::ordered_json>;

template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;
template <class T>
inline constexpr bool kIsList = false;
template <class T>
inline constexpr bool kIsList<std::vector<T>> = true;
template <class T>
inline constexpr bool kIsMap = false;
template <class T>
inline constexpr bool kIsMap<std::map<std::string, T>> = true;

/// A time is text, a duration is a number of seconds.
template <class T>
nlohmann::ordered_json shown(const T& value) {
  if constexpr (std::same_as<T, Time>) {
    return to_iso8601(value);
  } else if constexpr (std::same_as<T, Duration>) {
    return std::chrono::duration<double>(value).count();
  } else if constexpr (HasMembers<T>) {
    return members_json(value);
  } else if constexpr (kIsList<T>) {
    auto list = nlohmann::ordered_json::array();
    for (const auto& each : value) list.push_back(shown(each));
    return list;
  } else {
    return value;
  }
}

template <class T>
nlohmann::ordered_json schema_of_shown(const About& about = {}) {
  if constexpr (kIsOptional<T>) {
    return schema_of_shown<typename T::value_type>(about);
  } else if constexpr (std::same_as<T, Time>) {
    return {{"type", "string"}, {"format", "date-time"}};
  } else if constexpr (HasSchema<T>) {
    return reference(T::kSchema);
  } else if constexpr (HasMembers<T>) {
    return object_schema(members_of<T>({}, Use::kAnswer));
  } else if constexpr (kIsList<T>) {
    return {{"type", "array"}, {"items", schema_of_shown<typename T::value_type>(about)}};
  } else if constexpr (kIsMap<T>) {
    return {{"type", "object"}, {"additionalProperties", schema_of_shown<typename T::mapped_type>()}};
  } else if constexpr (IsJson<T>) {
    return nlohmann::ordered_json::object();
  } else if constexpr (std::same_as<T, bool>) {
    return {{"type", "boolean"}};
  } else if constexpr (std::integral<T>) {
    nlohmann::ordered_json out{{"type", "integer"}};
    if (std::unsigned_integral<T>) out["minimum"] = 0;
    return out;
  } else if constexpr (std::same_as<T, Duration> || std::floating_point<T>) {
    return {{"type", "number"}, {"minimum", 0}};
  } else {
    return text_schema(about);
  }
}

}  // namespace tidemark::jobs
