// Entity JSON: what is accepted has a stored form that reads back as the same properties.
#include "table_store/model/limits.h"
#include "table_store/model/property_block.h"
#include "table_store/odata/odata_json.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace tidemark;
  using namespace tidemark::table_store;
  const auto text = fuzz::text_of(bytes, size);
  (void)parse_table_json(text);
  const auto body = parse_entity_json(text);
  if (!body) return 0;
  std::string block;
  ByteWriter writer(block);
  write_properties(writer, body->properties);
  fuzz::require(is_property_block(block), "what was parsed can be stored");
  ByteReader reader(block);
  std::vector<Property> again;
  fuzz::require(read_properties(reader, again) && reader.finished(), "what was stored can be read");
  std::string second;
  ByteWriter rewriter(second);
  write_properties(rewriter, again);
  fuzz::require(second == block, "nothing changes on the way");
  for (const auto& property : body->properties) {
    const auto* value = std::get_if<std::string>(&property.value);
    fuzz::require(value == nullptr || check_value(property.value) || value->size() > kMaxStringUnits,
                  "strings from JSON are valid UTF-8");
  }
  return 0;
}
