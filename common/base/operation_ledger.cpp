#include "common/base/operation_ledger.h"

#include <algorithm>

#include "common/base/record.h"

namespace tidemark {
namespace {

constexpr auto kFields = [](auto& io, auto& ledger) {
  io.varint(ledger.epoch);
  io.boolean(ledger.closed);
  io.list(ledger.counters, [&](auto& counter) {
    io.string(counter.first);
    io.varint(counter.second);
  });
};

constexpr auto kStepFields = [](auto& io, auto& ledger) {
  kFields(io, ledger);
  io.optional(ledger.decision, [&](auto& decision) {
    io.boolean(decision.withdrawn);
    io.string(decision.note);
  });
  io.list(ledger.steps, [&](auto& mark) {
    io.varint(mark.step);
    io.varint(mark.epoch);
    io.string(mark.effect);
  });
};

constexpr std::uint8_t kWithSteps = 3;
constexpr auto kLedger = record_format<OperationLedger>(1, "ledger", kFields);
constexpr auto kStepLedger = record_format<OperationLedger>(kWithSteps, "ledger of steps", kStepFields);

}  // namespace

std::uint64_t OperationLedger::counter(std::string_view name) const {
  const auto found = std::ranges::find(counters, name, &std::pair<std::string, std::uint64_t>::first);
  return found == counters.end() ? 0 : found->second;
}

const StepMark* OperationLedger::find_step(std::uint32_t step) const {
  const auto found = std::ranges::find(steps, step, &StepMark::step);
  return found == steps.end() ? nullptr : &*found;
}

Result<void> check_operation_id(std::string_view operation_id) {
  if (operation_id.empty() || operation_id.size() > kMaxOperationIdBytes) {
    return fail(ErrorCode::kInvalidInput, "An operation id has 1 to 1024 bytes.");
  }
  return {};
}

std::string encode_ledger(const OperationLedger& ledger) {
  return ledger.has_steps() ? kStepLedger.encode(ledger) : kLedger.encode(ledger);
}

Result<OperationLedger> decode_ledger(std::string_view bytes) {
  const bool with_steps = !bytes.empty() && static_cast<std::uint8_t>(bytes.front()) == kWithSteps;
  return with_steps ? kStepLedger.decode(bytes) : kLedger.decode(bytes);
}

}  // namespace tidemark
