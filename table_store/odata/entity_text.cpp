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

}  // namespace

void append_entity_text(std::string& out, const Entity& entity) {
  const auto block = property_block(entity.properties);
  EntityView view;
  view.partition_key = entity.partition_key;
  view.row_key = entity.row_key;
  view.version = entity.version;
  view.block = block;
  const auto begin = out.size();
  append_list_element(out, JsonScope{}, view);
  if (entity.operation.empty()) return;
  std::string member;
  append_json_string(member, kOperationMember);
  member += ':';
  append_json_string(member, entity.operation);
  member += ',';
  out.insert(begin + 1, member);
}

Result<Entity> parse_entity_text(std::string_view json) {
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
  return entity;
}

}  // namespace tidemark::table_store
