#include "table_store/model/steps.h"

#include "common/base/record.h"
#include "table_store/model/property_block.h"

namespace tidemark::table_store {
namespace {

constexpr auto kEffect = record_format<StepEffect>(1, "effect of a step", [](auto& io, auto& effect) {
  io.i64(effect.version);
  io.boolean(effect.kept);
  io.optional(effect.before, [&](auto& block) { io.string(block); });
});

}  // namespace

Result<std::vector<Property>> properties_in(std::string_view block) {
  std::vector<Property> out;
  PropertyReader reader(block);
  while (reader.next()) out.push_back({std::string(reader.name()), value_of(reader.value())});
  if (!reader.ok() || !reader.rest().empty()) return corrupt_record("properties");
  return out;
}

std::string encode_effect(const StepEffect& effect) { return kEffect.encode(effect); }
Result<StepEffect> decode_effect(std::string_view bytes) { return kEffect.decode(bytes); }

}  // namespace tidemark::table_store
