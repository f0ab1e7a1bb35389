// The fence of an operation, and the ledger that a store keeps for it. Every write of a worker carries an operation id
// and an epoch. The store checks them against the operation's ledger in the transaction of the write, so a worker that
// has lost its lease to another worker can no longer change anything. This file has only rules and bytes; each store
// keeps its ledgers under its own keys.
//   ledger             1 | epoch varint | closed u8 | varint count | count * (name string | value varint)
//   of a transaction   3 | the fields above | decision? (withdrawn u8 | note string) | varint count |
//                      count * (step varint | epoch varint | effect string)
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/error.h"

namespace tidemark {

inline constexpr std::size_t kMaxOperationIdBytes = 1024;
inline constexpr std::size_t kMaxCauseBytes = 512;

/// A write with this fence is refused with kFenced if a higher epoch was seen or the operation is closed.
struct Fence {
  std::string operation_id;
  std::uint64_t epoch = 0;
  /// The operation's counter that each applied write raises, such as "moved" or "copied"; empty for none.
  std::string count_applied_as;
  /// Not 0 if the job got another text, which made it another operation: the last epoch under the earlier text. A
  /// ledger of that epoch or an earlier one does not count, and begins anew.
  std::uint64_t since = 0;
  /// The rules from which the write comes, if it does: the chain of a job that a rule has made (jobs/spec/cause.h). The
  /// table store notes it with each change, so that a rule can tell which changes its own jobs have caused.
  std::string cause = {};
};

/// The outcome of a write under a fence.
enum class WriteOutcome : std::uint8_t {
  kApplied = 1,
  kSuperseded = 2,  // a newer version is there
  kUnchanged = 3,   // a copy of the same version is there already
  kMissing = 4,     // nothing is there to change or erase
  kConflict = 5,    // the existing item may not be replaced
  kLast = kConflict,
};

/// The decision about a transaction: it happens, or it never will. It is made once, and outlives an edited text.
struct Decision {
  bool withdrawn = false;
  std::string note;  // the worker's own: what the steps are made from, or why there will be none
};

/// A step of a transaction that has taken effect. It is written in the transaction of the effect, so it is known for
/// certain whether a step was taken; it outlives an edited text.
struct StepMark {
  std::uint32_t step = 0;  // from 1
  std::uint64_t epoch = 0;
  std::string effect;  // the store's own: what a repeated request is answered with, and what undoing the step needs
};

/// All zero for an operation that nobody has opened.
struct OperationLedger {
  std::uint64_t epoch = 0;
  bool closed = false;
  std::vector<std::pair<std::string, std::uint64_t>> counters;
  std::optional<Decision> decision = {};
  std::vector<StepMark> steps = {};
  [[nodiscard]] std::uint64_t counter(std::string_view name) const;
  [[nodiscard]] const StepMark* find_step(std::uint32_t step) const;
  /// Tells whether the operation is a transaction, of which something is known that no repetition could find out.
  [[nodiscard]] bool has_steps() const { return decision || !steps.empty(); }
};

Result<void> check_operation_id(std::string_view operation_id);  // kInvalidInput

std::string encode_ledger(const OperationLedger& ledger);
Result<OperationLedger> decode_ledger(std::string_view bytes);  // kCorruption

}  // namespace tidemark
