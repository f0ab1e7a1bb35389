// Properties that a job sets, by name, as its JSON has them: plain values, whose type JSON implies, or
// {"type":"Int64","value":"..."}. Pure.
#pragma once
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "table_store/model/entity.h"

namespace tidemark::jobs {

class SpecMembers;

using PropertyValues = std::map<std::string, table_store::Value>;

/// Reads or writes a member that is an object of 1 to 252 properties.
void values_member(SpecMembers& in, const char* name, PropertyValues& values, bool required);
/// Returns the mistake in the form of one value; empty if there is none.
std::string problem_of_value(const nlohmann::json& given);
/// Reads one value, whose form is right, as the service reads that of an entity; nothing if it is not of its type.
std::optional<table_store::Value> value_from_json(const std::string& property, const nlohmann::json& given);
nlohmann::ordered_json json_of_value(const table_store::Value& value);
/// Returns the schema PropertyValues of openapi.json.
nlohmann::ordered_json values_schema();

/// Tells whether the entity has exactly these values.
bool has_values(const table_store::Entity& entity, const PropertyValues& values);
/// Properties that the entity has keep their place; others are added at the end.
void set_values(table_store::Entity& entity, const PropertyValues& values);

}  // namespace tidemark::jobs
