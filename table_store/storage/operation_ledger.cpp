// The ledgers of operations: epochs, closure and counters. Reads, checks and writes are in one transaction, here for
// ledgers alone and in entity_mutations.cpp together with an effect.
#include "table_store/model/limits.h"
#include "table_store/storage/service_impl.h"
#include "table_store/storage/table_keys.h"
#include "table_store/storage/test_switches.h"

namespace tidemark::table_store {
namespace {

const FailStep kLedgerStep("table.ledger");

using LedgerStep = std::function<Result<void>(OperationLedger&)>;

/// Loads the ledger, takes the step, stores the outcome.
Task<Result<OperationLedger>> change_ledger(kv::Engine& engine, std::string account, std::string operation_id,
                                            LedgerStep step) {
  CO_TRY(check_operation_id(operation_id));
  auto outcome = std::make_shared<OperationLedger>();
  CO_TRY(co_await engine.transact(
      [account = std::move(account), operation_id = std::move(operation_id), step = std::move(step),
       outcome](kv::Transaction& txn) -> Result<void> {
        auto ledger = TRY(load_ledger(txn, account, operation_id));
        TRY(step(ledger));
        store_ledger(txn, account, operation_id, ledger);
        *outcome = std::move(ledger);
        return {};
      },
      &kLedgerStep));
  co_return std::move(*outcome);
}

}  // namespace

Result<OperationLedger> load_ledger(const kv::Reader& reader, std::string_view account, std::string_view operation_id) {
  auto bytes = TRY(reader.get(operation_key(account, operation_id)));
  if (!bytes) return OperationLedger{};
  return decode_ledger(*bytes);
}

void store_ledger(kv::Transaction& txn, std::string_view account, std::string_view operation_id,
                  const OperationLedger& ledger) {
  txn.put(operation_key(account, operation_id), encode_ledger(ledger));
}

Result<void> check_fence(OperationLedger& ledger, std::uint64_t epoch) {
  if (test_switches().ignore_fence.load(std::memory_order_relaxed)) return {};
  return pass_fence(ledger, epoch);
}

Task<Result<OperationLedger>> TableService::open_operation(std::string account, std::string operation_id,
                                                           std::uint64_t epoch) {
  LedgerStep step = [epoch](OperationLedger& ledger) -> Result<void> {
    // Not an error: whoever opens it learns that the work is done.
    if (ledger.closed) return {};
    return check_fence(ledger, epoch);
  };
  co_return co_await change_ledger(impl_->engine, std::move(account), std::move(operation_id), std::move(step));
}

Task<Result<OperationLedger>> TableService::close_operation(std::string account, std::string operation_id,
                                                            std::uint64_t epoch) {
  LedgerStep step = [epoch](OperationLedger& ledger) -> Result<void> {
    if (!test_switches().ignore_fence.load(std::memory_order_relaxed)) return close_ledger(ledger, epoch);
    ledger.closed = true;
    return {};
  };
  co_return co_await change_ledger(impl_->engine, std::move(account), std::move(operation_id), std::move(step));
}

Task<Result<OperationLedger>> TableService::count(std::string account, Fence fence, std::uint64_t amount) {
  if (fence.count_applied_as.empty()) co_return fail(ErrorCode::kInvalidInput, "Name the counter.");
  LedgerStep step = [epoch = fence.epoch, name = std::move(fence.count_applied_as),
                     amount](OperationLedger& ledger) -> Result<void> {
    TRY(check_fence(ledger, epoch));
    return add_to_counter(ledger, name, amount);
  };
  co_return co_await change_ledger(impl_->engine, std::move(account), std::move(fence.operation_id), std::move(step));
}

Task<Result<void>> TableService::forget_operation(std::string account, std::string operation_id) {
  CO_TRY(check_operation_id(operation_id));
  co_return co_await impl_->engine.transact(
      [account = std::move(account), operation_id = std::move(operation_id)](kv::Transaction& txn) -> Result<void> {
        auto ledger = TRY(load_ledger(txn, account, operation_id));
        if (ledger.closed) txn.erase(operation_key(account, operation_id));
        return {};
      });
}

Task<Result<OperationLedger>> TableService::read_operation(std::string account, std::string operation_id) {
  CO_TRY(check_operation_id(operation_id));
  const auto snapshot = impl_->engine.snapshot();
  co_return load_ledger(*snapshot, account, operation_id);
}

}  // namespace tidemark::table_store
