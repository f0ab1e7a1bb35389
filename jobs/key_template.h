// The template of a key: text with {Property} in it, "{{" and "}}" for braces. {PartitionKey} and {RowKey} are inserted
// as they are; a property's text (numbers in shortest form, times in ISO 8601) with forbidden characters and '%' as
// %XX. Pure.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"

namespace tidemark::jobs {

struct TemplatePart {
  bool placeholder = false;
  std::string text;  // literal, or the property's name
};

/// kJobInvalid with a message for a person: unbalanced braces, a bad name, characters that a key cannot have.
Result<std::vector<TemplatePart>> parse_key_template(std::string_view text);

}  // namespace tidemark::jobs
