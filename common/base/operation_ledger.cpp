#include "common/base/operation_ledger.h"

#include <algorithm>

#include "common/base/bytes.h"

namespace tidemark {
namespace {
constexpr std::uint8_t kFormat = 1;
}

std::uint64_t OperationLedger::counter(std::string_view name) const {
  for (const auto& [key, value] : counters) {
    if (key == name) return value;
  }
  return 0;
}

Result<void> check_operation_id(std::string_view operation_id) {
  if (operation_id.empty() || operation_id.size() > kMaxOperationIdBytes) {
    return fail(ErrorCode::kInvalidInput, "An operation id has 1 to 1024 bytes.");
  }
  return {};
}

Result<void> pass_fence(OperationLedger& ledger, std::uint64_t epoch) {
  if (epoch < ledger.epoch || ledger.closed) return fail(ErrorCode::kFenced);
  ledger.epoch = epoch;
  return {};
}

Result<void> close_ledger(OperationLedger& ledger, std::uint64_t epoch) {
  if (ledger.closed && ledger.epoch == epoch) return {};
  TRY(pass_fence(ledger, epoch));
  ledger.closed = true;
  return {};
}

Result<void> add_to_counter(OperationLedger& ledger, std::string_view name, std::uint64_t amount) {
  const auto found = std::find_if(ledger.counters.begin(), ledger.counters.end(),
                                  [&](const auto& counter) { return counter.first == name; });
  if (found != ledger.counters.end()) {
    found->second += amount;
    return {};
  }
  if (ledger.counters.size() == kMaxOperationCounters) {
    return fail(ErrorCode::kInvalidInput, "An operation has too many counters.");
  }
  ledger.counters.emplace_back(name, amount);
  return {};
}

std::string encode_ledger(const OperationLedger& ledger) {
  std::string bytes;
  ByteWriter out(bytes);
  out.u8(kFormat);
  out.varint(ledger.epoch);
  out.boolean(ledger.closed);
  out.varint(ledger.counters.size());
  for (const auto& [name, value] : ledger.counters) {
    out.string(name);
    out.varint(value);
  }
  return bytes;
}

Result<OperationLedger> decode_ledger(std::string_view bytes) {
  ByteReader in(bytes);
  OperationLedger ledger;
  const bool known = in.u8() == kFormat;
  ledger.epoch = in.varint();
  ledger.closed = in.boolean();
  const auto count = in.varint();
  for (std::uint64_t i = 0; i < count && in.ok() && i <= kMaxOperationCounters; ++i) {
    std::string name(in.string());
    const auto value = in.varint();
    ledger.counters.emplace_back(std::move(name), value);
  }
  if (known && in.finished()) return ledger;
  auto error = make_error(ErrorCode::kCorruption);
  error.detail = "bad ledger record";
  return fail(std::move(error));
}

}  // namespace tidemark
