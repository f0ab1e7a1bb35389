#include "common/base/operation_ledger.h"

#include <algorithm>

#include "common/base/record.h"

namespace tidemark {
namespace {

constexpr auto kLedger = record_format<OperationLedger>(1, "ledger", [](auto& io, auto& ledger) {
  io.varint(ledger.epoch);
  io.boolean(ledger.closed);
  io.list(ledger.counters, [&](auto& counter) {
    io.string(counter.first);
    io.varint(counter.second);
  });
});

}  // namespace

std::uint64_t OperationLedger::counter(std::string_view name) const {
  const auto found = std::ranges::find(counters, name, &std::pair<std::string, std::uint64_t>::first);
  return found == counters.end() ? 0 : found->second;
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
  const auto found = std::ranges::find(ledger.counters, name, &std::pair<std::string, std::uint64_t>::first);
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

std::string encode_ledger(const OperationLedger& ledger) { return kLedger.encode(ledger); }
Result<OperationLedger> decode_ledger(std::string_view bytes) { return kLedger.decode(bytes); }

}  // namespace tidemark
