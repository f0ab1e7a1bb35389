// Parses and writes entities as OData JSON. Parsing is by simdjson with one parser per thread; output is appended by
// hand into one string. Thread safe. Errors: kInvalidInput, kPropertiesNeedValue (missing or null keys where they are
// required), kDuplicatePropertiesSpecified. The service checks the limits of names and sizes.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "table_store/model/entity_view.h"

namespace tidemark::table_store {

/// odata=nometadata | minimalmetadata | fullmetadata
enum class MetadataLevel { kNone, kMinimal, kFull };

/// An entity as a client sent it. Null properties are left out; they are not stored and replace nothing.
struct EntityBody {
  std::optional<std::string> partition_key, row_key;
  std::vector<Property> properties;
};
/// `keep` names a member that is otherwise left out (Timestamp) and will be among the properties, as text.
Result<EntityBody> parse_entity_json(std::string_view json, std::string_view keep = {});

/// Returns the TableName of a create request. kInvalidInput, kPropertiesNeedValue.
Result<std::string> parse_table_json(std::string_view json);

/// The settings that all entities of one answer share.
struct JsonScope {
  std::string_view base;  // "http://host:port/account", without a trailing '/'
  std::string_view account;
  std::string_view table;
  MetadataLevel level = MetadataLevel::kMinimal;
  const std::vector<std::string>* select = nullptr;  // null or empty: everything
};

/// Appends one entity that is the whole answer, with odata.metadata.
void append_entity_answer(std::string& out, const JsonScope& scope, const EntityView& entity);
/// Appends one entity of a list.
void append_list_element(std::string& out, const JsonScope& scope, const EntityView& entity);
/// Appends everything before the first element; the caller appends elements, commas and "]}".
void append_list_head(std::string& out, const JsonScope& scope);

void append_table_answer(std::string& out, const JsonScope& scope);
void append_table_list(std::string& out, const JsonScope& scope, const std::vector<std::string>& tables);

/// Appends a quoted, escaped JSON string.
void append_json_string(std::string& out, std::string_view text);
/// Appends the shortest text that reads back as the same double, always with a fraction or an exponent. Finite values
/// only.
void append_json_double(std::string& out, double value);

}  // namespace tidemark::table_store
