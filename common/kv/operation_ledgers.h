// Keeps the ledgers of operations (common/base/operation_ledger.h) in a store. A worker's write is one transaction: the
// check of its fence, the effect, and the ledger that counts it. Thread safe; coroutines resume on the caller's
// executor.
#pragma once
#include <functional>

#include "common/base/operation_ledger.h"
#include "common/kv/engine.h"

namespace tidemark::kv {

/// A part of the service of a store with fences.
class OperationLedgers {
 public:
  using KeyOf = std::string (*)(std::string_view account, std::string_view operation_id);
  /// `key_of` names a ledger's row; `step` names changes of a ledger alone, for crash tests.
  OperationLedgers(Engine& engine, KeyOf key_of, const FailStep* step = nullptr)
      : engine_(engine), key_of_(key_of), step_(step) {}

  /// The work behind a fence. Returns how many effects were applied, which are counted if the fence says so.
  using Effect = std::function<Result<std::uint64_t>(OperationLedger&)>;
  /// A step of a transaction: checks the fence, then does the work. kFenced if another attempt has taken over.
  Result<void> fenced(Transaction& txn, std::string_view account, const Fence& fence, const Effect& effect) const;
  /// The same, or only the effect if there is no fence.
  Result<void> fenced(Transaction& txn, std::string_view account, const std::optional<Fence>& fence,
                      const Effect& effect) const;

  /// Opening a closed operation is not an error; the ledger says that the work is done.
  /// `since`: as in Fence.
  Task<Result<OperationLedger>> open_operation(std::string account, std::string operation_id, std::uint64_t epoch,
                                               std::uint64_t since = 0) const;
  Task<Result<OperationLedger>> close_operation(std::string account, std::string operation_id, std::uint64_t epoch,
                                                std::uint64_t since = 0) const;
  Task<Result<OperationLedger>> count(std::string account, Fence fence, std::uint64_t amount) const;
  /// Empty if the operation is unknown.
  Task<Result<OperationLedger>> read_operation(std::string account, std::string operation_id) const;
  /// Removes the ledger if it is closed and its operation has no message and no worker any more.
  Task<Result<void>> forget_operation(std::string account, std::string operation_id) const;

 private:
  using Change = std::function<Result<void>(OperationLedger&)>;
  Task<Result<OperationLedger>> change(std::string account, std::string operation_id, Change change) const;

  Engine& engine_;
  KeyOf key_of_;
  const FailStep* step_;
};

namespace test_switches {
/// Turns the fences off, so that the simulation can show that it notices. Only tests may set it.
inline std::atomic<bool> ignore_fence{false};
}  // namespace test_switches

}  // namespace tidemark::kv
