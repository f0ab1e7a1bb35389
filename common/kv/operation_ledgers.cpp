#include "common/kv/operation_ledgers.h"

#include <algorithm>

namespace tidemark::kv {
namespace {

constexpr std::size_t kMaxCounters = 64;

/// Forgets what was done under an earlier text. Whoever still works on that has an epoch that the ledger refuses from
/// now on.
void forget_earlier_text(OperationLedger& ledger, std::uint64_t since) {
  if (since == 0 || ledger.epoch > since) return;
  ledger.closed = false;
  ledger.counters.clear();
}

/// Raises the ledger's epoch. kFenced if the epoch is lower than the ledger's or the operation is closed.
Result<void> pass_fence(OperationLedger& ledger, std::uint64_t epoch) {
  if (test_switches::ignore_fence.load(std::memory_order_relaxed)) return {};
  if (epoch < ledger.epoch || ledger.closed) return fail(ErrorCode::kFenced);
  ledger.epoch = epoch;
  return {};
}

Result<void> add_to_counter(OperationLedger& ledger, std::string_view name, std::uint64_t amount) {
  const auto found = std::ranges::find(ledger.counters, name, &std::pair<std::string, std::uint64_t>::first);
  if (found != ledger.counters.end()) {
    found->second += amount;
    return {};
  }
  if (ledger.counters.size() == kMaxCounters) {
    return fail(ErrorCode::kInvalidInput, "An operation has too many counters.");
  }
  ledger.counters.emplace_back(name, amount);
  return {};
}

Result<OperationLedger> load(const Reader& reader, const std::string& key) {
  const auto bytes = TRY(reader.get(key));
  return bytes ? decode_ledger(*bytes) : OperationLedger{};
}

}  // namespace

Result<void> OperationLedgers::fenced(Transaction& txn, std::string_view account, const Fence& fence,
                                      const Effect& effect) const {
  const auto key = key_of_(account, fence.operation_id);
  auto ledger = TRY(load(txn, key));
  forget_earlier_text(ledger, fence.since);
  TRY(pass_fence(ledger, fence.epoch));
  const auto applied = TRY(effect(ledger));
  if (applied > 0 && !fence.count_applied_as.empty()) TRY(add_to_counter(ledger, fence.count_applied_as, applied));
  txn.put(key, encode_ledger(ledger));
  return {};
}

Result<void> OperationLedgers::fenced(Transaction& txn, std::string_view account, const std::optional<Fence>& fence,
                                      const Effect& effect) const {
  if (fence) return fenced(txn, account, *fence, effect);
  OperationLedger nobodys;
  TRY(effect(nobodys));
  return {};
}

Task<Result<OperationLedger>> OperationLedgers::change(std::string account, std::string operation_id,
                                                       Change change) const {
  CO_TRY(check_operation_id(operation_id));
  const auto key = key_of_(account, operation_id);
  OperationLedger ledger;
  CO_TRY(co_await engine_.transact(
      [&](Transaction& txn) -> Result<void> {
        ledger = TRY(load(txn, key));
        TRY(change(ledger));
        txn.put(key, encode_ledger(ledger));
        return {};
      },
      step_));
  co_return ledger;
}

Task<Result<OperationLedger>> OperationLedgers::open_operation(std::string account, std::string operation_id,
                                                               std::uint64_t epoch, std::uint64_t since) const {
  return change(std::move(account), std::move(operation_id), [epoch, since](OperationLedger& ledger) {
    forget_earlier_text(ledger, since);
    return ledger.closed ? Result<void>{} : pass_fence(ledger, epoch);
  });
}

Task<Result<OperationLedger>> OperationLedgers::close_operation(std::string account, std::string operation_id,
                                                                std::uint64_t epoch, std::uint64_t since) const {
  return change(std::move(account), std::move(operation_id), [epoch, since](OperationLedger& ledger) -> Result<void> {
    forget_earlier_text(ledger, since);
    // Closing again with the same epoch succeeds, because the reply to the first close may have been lost.
    if (ledger.closed && ledger.epoch == epoch) return {};
    TRY(pass_fence(ledger, epoch));
    ledger.closed = true;
    return {};
  });
}

Task<Result<OperationLedger>> OperationLedgers::count(std::string account, Fence fence, std::uint64_t amount) const {
  if (fence.count_applied_as.empty()) co_return fail(ErrorCode::kInvalidInput, "Name the counter.");
  co_return co_await change(std::move(account), fence.operation_id, [&](OperationLedger& ledger) -> Result<void> {
    forget_earlier_text(ledger, fence.since);
    TRY(pass_fence(ledger, fence.epoch));
    return add_to_counter(ledger, fence.count_applied_as, amount);
  });
}

Task<Result<OperationLedger>> OperationLedgers::read_operation(std::string account, std::string operation_id) const {
  CO_TRY(check_operation_id(operation_id));
  co_return load(*engine_.snapshot(), key_of_(account, operation_id));
}

Task<Result<void>> OperationLedgers::forget_operation(std::string account, std::string operation_id) const {
  CO_TRY(check_operation_id(operation_id));
  const auto key = key_of_(account, operation_id);
  co_return co_await engine_.transact([&](Transaction& txn) -> Result<void> {
    const auto ledger = TRY(load(txn, key));
    if (ledger.closed) txn.erase(key);
    return {};
  });
}

}  // namespace tidemark::kv
