// The template of a key: text with {Property} in it, and "{{" and "}}" for braces. {PartitionKey} and {RowKey} are
// inserted as they are. Other properties are inserted as text (numbers in shortest form, times in ISO 8601), with %XX
// for '%' and for characters that a key cannot have. Pure.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "jobs/spec/description.h"
#include "jobs/spec/selection.h"
#include "table_store/model/entity.h"

namespace tidemark::jobs {

class SpecMembers;

struct TemplatePart {
  bool placeholder = false;
  std::string text;  // literal, or the property's name
};

/// kJobInvalid, with a message for people, if braces are unbalanced, a name is bad, or a key cannot have a character.
Result<std::vector<TemplatePart>> parse_key_template(std::string_view text);
/// Reads or writes a member that is such a template.
void template_member(SpecMembers& in, const char* name, std::string& text, const About& about = {},
                     bool required = false);

/// The templates of both keys.
struct KeyTemplates {
  std::vector<TemplatePart> partition, row;
};
Result<KeyTemplates> parse_key_templates(std::string_view partition_key, std::string_view row_key);
/// Returns nothing if a property is missing or a key would be too long.
std::optional<EntityKey> apply_key_templates(const KeyTemplates& templates, const table_store::Entity& entity);

/// Returns the text of a value: numbers in shortest form, times in ISO 8601, binary in Base64.
std::string value_text(const table_store::Value& value);
/// Returns the text of a property, of PartitionKey or of RowKey; nothing if the entity has no such property.
std::optional<std::string> property_text(const table_store::Entity& entity, std::string_view name);

}  // namespace tidemark::jobs
