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

std::string encode_ledger(const OperationLedger& ledger) { return kLedger.encode(ledger); }
Result<OperationLedger> decode_ledger(std::string_view bytes) { return kLedger.decode(bytes); }

}  // namespace tidemark
