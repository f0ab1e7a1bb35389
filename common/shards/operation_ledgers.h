// Keeps the ledgers of operations (common/base/operation_ledger.h) in a store. A worker's write is one transaction: the
// check of its fence, the effect, and the ledger that counts it. Thread safe; coroutines resume on the caller's
// executor.
//
// In a store of several shards (docs/scale.md) an operation has a ledger on each shard that it writes to. The ledger on
// its home, the shard of its id, lists the other shards: a shard is listed there before the first write to it. A higher
// epoch is taken at home first, then on all listed shards, and a worker writes under it only once all of them are known
// to have it. An operation is closed on all listed shards, and then at home. So nothing is written on any shard under a
// lower epoch after a write under a higher one, and nothing at all once the operation is closed.
//
// Where processes share the shards (peers.h), each process changes the ledgers on its own shards. The functions below
// are for the process that serves an operation's home, except reading, which any process may do, and the functions for
// one shard.
// The steps of a transaction are marked in the ledger of the shard on which they take effect, and its decision in that
// of the shard which decides. A ledger with steps does not fade before it is closed: nobody else knows which steps were
// taken.
//   ledger                      as in common/base
//   of several shards           2 | ledger string | epoch varint | varint count | count * shard varint
// The epoch is the highest one that all listed shards are known to have; only the home lists any.
#pragma once
#include <functional>

#include "common/base/operation_ledger.h"
#include "common/kv/engine.h"
#include "common/kv/fading_rows.h"
#include "common/shards/owner_calls.h"
#include "common/shards/shards.h"

namespace tidemark::shards {

/// A part of the service of a store with fences.
class OperationLedgers {
 public:
  using KeyOf = std::string (*)(std::string_view account, std::string_view operation_id);
  /// `key_of` names a ledger's row; `step` names changes of a ledger alone, for crash tests.
  OperationLedgers(kv::Engine& engine, KeyOf key_of, const FailStep* step = nullptr)
      : engines_{&engine}, key_of_(key_of), step_(step) {}
  OperationLedgers(const Shards& shards, KeyOf key_of, const FailStep* step = nullptr);

  /// The work behind a fence. Returns how many effects were applied, which are counted if the fence says so.
  using Effect = std::function<Result<std::uint64_t>(OperationLedger&)>;
  /// A step of a transaction of this shard: checks the fence, then does the work. kFenced if another attempt has taken
  /// over. False: nothing was done, since the shard may not be listed under the fence's epoch yet; call enter(), and
  /// run the transaction again with `entered`.
  Result<bool> fenced_on(std::size_t shard, kv::Transaction& txn, std::string_view account, const Fence& fence,
                         bool entered, const Effect& effect) const;
  Task<Result<void>> enter(std::size_t shard, std::string account, Fence fence) const;

  /// Opening a closed operation is not an error; the ledger says that the work is done. `since`: as in Fence. These
  /// functions return the ledger of all shards together.
  Task<Result<OperationLedger>> open_operation(std::string account, std::string operation_id, std::uint64_t epoch,
                                               std::uint64_t since = 0) const;
  Task<Result<OperationLedger>> close_operation(std::string account, std::string operation_id, std::uint64_t epoch,
                                                std::uint64_t since = 0) const;
  Task<Result<OperationLedger>> count(std::string account, Fence fence, std::uint64_t amount) const;
  /// Returns an empty ledger if the operation is unknown.
  Task<Result<OperationLedger>> read_operation(std::string account, std::string operation_id) const;
  /// Removes the ledger if it is closed and its operation has no message and no worker any more.
  Task<Result<void>> forget_operation(std::string account, std::string operation_id) const;
  /// Makes a change on a shard of this process, for the process that serves the operation's home.
  Task<Result<void>> change_ledger(std::uint64_t shard, LedgerChange change) const;
  /// Returns the shard of the operation's id.
  [[nodiscard]] std::size_t home_of(std::string_view account, std::string_view operation_id) const;

 private:
  struct Row;
  struct Operation;
  using Change = std::function<Result<void>(Row&)>;
  [[nodiscard]] Operation operation(std::string_view account, std::string_view operation_id) const;
  /// Returns nothing if the operation has no ledger here.
  static Result<std::optional<Row>> find(const kv::Reader& reader, const std::string& key);
  static void store(kv::Transaction& txn, const std::string& key, const Row& row);
  Task<Result<Row>> change_home(const Operation& operation, Change change) const;
  Task<Result<void>> enter_at_home(LedgerChange entering) const;
  /// Has the ledger of a shard changed by the process that serves the shard.
  Task<Result<void>> have_changed(std::uint64_t shard, LedgerChange change) const;
  Task<Result<void>> change_listed(const std::vector<std::uint64_t>& shards, LedgerChange change) const;
  Task<Result<void>> change_here(std::uint64_t shard, LedgerChange change) const;
  Task<Result<void>> raise_listed(const Operation& operation, Row home, std::uint64_t epoch, std::uint64_t since) const;
  [[nodiscard]] Result<OperationLedger> sum_up(const Operation& operation, Row home) const;

  std::vector<kv::Engine*> engines_;
  Placement placement_;
  Peers* peers_ = nullptr;  // null: all shards are here
  KeyOf key_of_;
  const FailStep* step_;
};

/// Does one round over the ledgers of a shard, which fade (fading_rows.h). An operation fades as a whole: its home does
/// not fade before every listed shard, since only the home can say on which shards an earlier attempt must be refused;
/// and another shard does not fade before the home, since its counters belong to the sum. Returns how many rows were
/// removed.
Task<Result<std::size_t>> drop_faded_ledgers(std::vector<kv::Engine*> shards, std::size_t shard, kv::FadingRows fading,
                                             Duration retention, Time now);

/// Returns the ledger in a row. kCorruption.
Result<OperationLedger> ledger_in(std::string_view row);

namespace test_switches {
/// Turns the fences off, so that the simulation can show that it notices. Only tests may set it.
inline std::atomic<bool> ignore_fence{false};
}  // namespace test_switches

}  // namespace tidemark::shards
