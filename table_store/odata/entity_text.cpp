#include "table_store/odata/entity_text.h"

#include <algorithm>

#include "table_store/model/property_block.h"
#include "table_store/odata/odata_json.h"

namespace tidemark::table_store {
namespace {

// Neither can be the name of a property: one is the system's, the other has a dot.
constexpr std::string_view kTimestamp = "Timestamp";

std::string take_text(std::vector<Property>& properties, std::string_view name) {
  const auto found = std::find_if(properties.begin(), properties.end(),
                                  [&](const Property& property) { return property.name == name; });
  if (found == properties.end()) return {};
  auto* text = std::get_if<std::string>(&found->value);
  if (text == nullptr) return {};
  auto out = std::move(*text);
  properties.erase(found);
  return out;
}

/// Appends a member and a comma; nothing if the text is empty.
void append_member(std::string& out, std::string_view name, std::string_view text) {
  if (text.empty()) return;
  append_json_string(out, name);
  out += ':';
  append_json_string(out, text);
  out += ',';
}

}  // namespace

void append_entity_text(std::string& out, const Entity& entity, std::string_view archive) {
  const auto block = property_block(entity.properties);
  EntityView view;
  view.partition_key = entity.partition_key;
  view.row_key = entity.row_key;
  view.version = entity.version;
  view.block = block;
  const auto begin = out.size();
  append_list_element(out, JsonScope{}, view);
  std::string members;
  append_member(members, kOperationMember, entity.operation);
  append_member(members, kArchiveMember, archive);
  out.insert(begin + 1, members);
}

Result<Entity> parse_entity_text(std::string_view json, std::string* archive) {
  auto body = TRY(parse_entity_json(json, kTimestamp));
  if (!body.partition_key || !body.row_key) return fail(ErrorCode::kPropertiesNeedValue);
  Entity entity;
  entity.partition_key = std::move(*body.partition_key);
  entity.row_key = std::move(*body.row_key);
  entity.properties = std::move(body.properties);
  const auto stamp = parse_iso8601(take_text(entity.properties, kTimestamp));
  if (!stamp) return fail(ErrorCode::kInvalidInput, "The Timestamp is missing or is no time.");
  entity.version = stamp->time_since_epoch().count();
  entity.operation = take_text(entity.properties, kOperationMember);
  auto belongs_to = take_text(entity.properties, kArchiveMember);
  if (archive != nullptr) *archive = std::move(belongs_to);
  return entity;
}

}  // namespace tidemark::table_store
