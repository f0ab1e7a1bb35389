#include "jobs/spec/property_values.h"

#include <cmath>

#include "common/base/encoding.h"
#include "common/base/text.h"
#include "jobs/spec/key_template.h"
#include "jobs/spec/spec_members.h"
#include "table_store/model/limits.h"
#include "table_store/odata/odata_json.h"

namespace tidemark::jobs {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using table_store::Value;

constexpr std::size_t kMaxShownName = 64;
constexpr const char* kType = "type";
constexpr const char* kValue = "value";
constexpr std::array<std::string_view, std::variant_size_v<Value>> kTypes{"String",  "Int32",    "Int64", "Double",
                                                                          "Boolean", "DateTime", "Guid",  "Binary"};

bool fits_int32(const json& number) {
  if (number.is_number_unsigned()) return number.get<std::uint64_t>() <= INT32_MAX;
  return number.get<std::int64_t>() >= INT32_MIN;
}

constexpr About kAboutValues{.option = "NAME=VALUE, the value as JSON or else as text; may be given again"};

ordered_json plain_value_schemas() {
  return ordered_json::array({{{"type", "string"}}, {{"type", "number"}}, {{"type", "boolean"}}});
}

}  // namespace

std::string problem_of_value(const json& given) {
  if (given.is_object()) {
    const auto type = given.find(kType);
    const bool known = type != given.end() && type->is_string() &&
                       std::ranges::find(kTypes, type->get_ref<const std::string&>()) != kTypes.end();
    if (!known || given.size() != 2 || !given.contains(kValue)) {
      return "must be a plain value or {\"type\":T,\"value\":V}, T being one of " + joined(kTypes);
    }
    return given[kValue].is_null() ? "must not be null: properties are set, and none is removed" : "";
  }
  if (given.is_null()) return "must not be null: properties are set, and none is removed";
  if (given.is_array()) return "must not be a list";
  if (given.is_number_integer() && !fits_int32(given)) {
    return "does not fit into 32 bits: write {\"type\":\"Int64\",\"value\":\"...\"}";
  }
  return "";
}

std::optional<Value> value_from_json(const std::string& name, const json& given) {
  json entity;
  if (given.is_object()) entity[name + "@odata.type"] = "Edm." + given[kType].get<std::string>();
  entity[name] = given.is_object() ? given[kValue] : given;
  auto body = table_store::parse_entity_json(entity.dump(-1, ' ', false, json::error_handler_t::replace));
  if (!body || body->properties.size() != 1 || !table_store::check_value(body->properties.front().value)) {
    return std::nullopt;
  }
  return std::move(body->properties.front().value);
}

ordered_json json_of_value(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* number = std::get_if<std::int32_t>(&value)) return *number;
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  const auto* real = std::get_if<double>(&value);
  if (real != nullptr && std::isfinite(*real)) return *real;
  const auto* time = std::get_if<Time>(&value);
  return {{kType, kTypes.at(value.index())}, {kValue, time != nullptr ? to_iso8601_7digits(*time) : value_text(value)}};
}

ordered_json values_schema() {
  const std::vector<Member> members{{kType, text_schema({.one_of = kTypes}), true, {}, {}},
                                    {kValue, {{"oneOf", plain_value_schemas()}}, true, {}, {}}};
  auto forms = plain_value_schemas();
  forms.push_back(object_schema(members));
  return {{"type", "object"},
          {"minProperties", 1},
          {"maxProperties", table_store::kMaxProperties},
          {"description", "Properties to set"},
          {"additionalProperties", {{"oneOf", std::move(forms)}}}};
}

void values_member(SpecMembers& in, const char* name, PropertyValues& values, bool required) {
  if (in.describes()) return in.describe(name, reference("PropertyValues"), kAboutValues, required);
  if (in.writes()) {
    ordered_json all = ordered_json::object();
    for (const auto& [property, value] : values) all[property] = json_of_value(value);
    if (!values.empty()) in.put(name, std::move(all));
    return;
  }
  const auto* given = in.any(name);
  if (given == nullptr && !required) return;
  if (given == nullptr) return in.problem(std::string(name) + " is missing");
  if (!given->is_object() || given->empty() || given->size() > table_store::kMaxProperties) {
    return in.problem(std::string(name) + " must be an object of 1 to 252 properties and their values");
  }
  for (const auto& [property, value] : given->items()) {
    const auto place = std::string(name) + ": '" + std::string(beginning_of(property, kMaxShownName)) + "' ";
    if (!table_store::check_property_name(property)) {
      in.problem(place + "is no property that could be set");
    } else if (auto problem = problem_of_value(value); !problem.empty()) {
      in.problem(place + problem);
    } else if (auto read = value_from_json(property, value)) {
      values.emplace(property, std::move(*read));
    } else {
      in.problem(place + "has a value that is not of its type, or too long");
    }
  }
}

bool has_values(const table_store::Entity& entity, const PropertyValues& values) {
  return std::ranges::all_of(values, [&](const auto& each) {
    const auto* value = entity.find(each.first);
    return value != nullptr && table_store::same_value(*value, each.second);
  });
}

void set_values(table_store::Entity& entity, const PropertyValues& values) {
  for (const auto& [name, value] : values) {
    const auto place = std::ranges::find(entity.properties, name, &table_store::Property::name);
    if (place == entity.properties.end()) {
      entity.properties.push_back({name, value});
    } else {
      place->value = value;
    }
  }
}

}  // namespace tidemark::jobs
