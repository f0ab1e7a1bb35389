// Entity JSON: an accepted entity has a stored form that reads back as the same properties.
#include "table_store/model/entity_view.h"
#include "table_store/model/limits.h"
#include "table_store/odata/odata_json.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace tidemark;
  using namespace tidemark::table_store;
  const auto text = fuzz::text_of(bytes, size);
  (void)parse_table_json(text);
  const auto body = parse_entity_json(text);
  if (!body) return 0;
  const auto block = property_block(body->properties);
  fuzz::require(is_property_block(block), "what was parsed can be stored");
  EntityView stored;
  stored.block = block;
  const auto again = stored.to_entity().properties;
  fuzz::require(again.size() == body->properties.size(), "what was stored can be read");
  fuzz::require(property_block(again) == block, "nothing changes on the way");
  for (const auto& property : body->properties) {
    const auto* value = std::get_if<std::string>(&property.value);
    fuzz::require(value == nullptr || check_value(property.value) || value->size() > kMaxStringUnits,
                  "strings from JSON are valid UTF-8");
  }
  return 0;
}
