#include "table_store/model/steps.h"

#include "common/base/record.h"

namespace tidemark::table_store {
namespace {

constexpr auto kEffect = record_format<StepEffect>(1, "effect of a step", [](auto& io, auto& effect) {
  io.i64(effect.version);
  io.boolean(effect.kept);
  io.optional(effect.before, [&](auto& block) { io.string(block); });
});

}  // namespace

std::string encode_effect(const StepEffect& effect) { return kEffect.encode(effect); }
Result<StepEffect> decode_effect(std::string_view bytes) { return kEffect.decode(bytes); }

}  // namespace tidemark::table_store
