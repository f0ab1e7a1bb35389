// The templates of a transaction: texts in which {guard.Property} stands for a property of the entity that a guard has
// read, and {job.id} for the job's id; "{{" and "}}" are braces. A text that is one such placeholder and nothing else
// stands for the value with its type. Pure.
#pragma once
#include <nlohmann/json.hpp>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "table_store/model/entity.h"

namespace tidemark::jobs {

inline constexpr std::string_view kJobAlias = "job";

/// A property of the entity that a guard has read.
struct Reference {
  std::string guard, property;
  auto operator<=>(const Reference&) const = default;
};
using References = std::set<Reference>;

/// The values for the templates.
using ReadValues = std::map<Reference, table_store::Value>;

/// Returns what a template refers to. kJobInvalid, with a message that goes on after the name of a member.
Result<References> references_in(std::string_view text);
/// Returns the references of all texts in a JSON value.
Result<References> references_in(const nlohmann::json& json);

/// kJobInvalid if a value is not there.
Result<table_store::Value> fill_in_value(std::string_view text, const ReadValues& values);
Result<std::string> fill_in_text(std::string_view text, const ReadValues& values);
/// Fills in all texts in a JSON value. A text that is one placeholder becomes a number or true or false if the value is
/// one that JSON has.
Result<nlohmann::json> fill_in_json(const nlohmann::json& json, const ReadValues& values);
/// Likewise for a property: a plain value, or {"type":T,"value":V}, of which the texts are templates.
Result<table_store::Value> fill_in_property(const std::string& name, const nlohmann::json& given,
                                            const ReadValues& values);

/// The values as JSON, for the note of the decision: {"guard":{"Property":value}}.
nlohmann::json to_json(const ReadValues& values);
std::optional<ReadValues> read_values_from(const nlohmann::json& json);

}  // namespace tidemark::jobs
