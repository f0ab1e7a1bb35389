// Stored bytes, as a damaged disk would return them: no reading past the end, and a record that is read is written back
// the same.
#include "common/base/operation_ledger.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/stored_entities.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace tidemark;
  using namespace tidemark::table_store;
  const auto record = fuzz::text_of(bytes, size);
  (void)kTableRecord.decode(record);
  (void)tidemark::decode_ledger(record);
  if (const auto view = view_entity(record)) {
    auto reader = view->properties();
    while (reader.next()) (void)reader.value();
  }
  Entity entity;
  if (!decode_entity(record, entity)) return 0;
  const auto written = encode_entity(entity.version, entity.source_version, entity.properties);
  Entity again;
  fuzz::require(decode_entity(written, again).has_value(), "what was read can be written");
  fuzz::require(encode_entity(again.version, again.source_version, again.properties) == written,
                "nothing changes on the way");
  return 0;
}
