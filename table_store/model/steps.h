// The steps of a transaction job that one shard of the table store takes in one commit (docs/transactions.md). Each
// step is marked in the ledger of the operation, in the commit that carries it out, so it is carried out once however
// often it is asked for. The first commit decides: if its guards hold, the transaction happens, whatever comes later.
// Plain values.
#pragma once
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "table_store/model/move.h"

namespace tidemark::table_store {

inline constexpr std::size_t kMaxSteps = 100;
inline constexpr std::size_t kMaxNoteBytes = 256UL << 10;

/// The state that an entity must still be in when the transaction is decided: it has this version, or does not exist.
struct Guard {
  std::string table, partition_key, row_key;
  std::optional<Version> version;
};

struct NumberedMutation {
  std::uint32_t number = 0;  // of the step, from 1
  std::string table, partition_key;
  Mutation mutation;  // must not be lenient
};

struct PartitionName {
  std::string table, partition_key;
};

/// The part of a request in deciding. Nothing is decided if a decision was made before; that one counts.
enum class Deciding : std::uint8_t {
  kNothing = 1,    // the transaction was decided before; take the steps
  kGoesAhead = 2,  // decide that it happens, if the guards on this shard hold
  kWithdraws = 3,  // decide that it never will
  kLast = kWithdraws,
};

struct StepsRequest {
  Fence fence;
  /// The partition whose shard takes the steps; nothing: the shard of the operation's ledger. All requests that decide
  /// name the same.
  std::optional<PartitionName> at;
  Deciding deciding = Deciding::kNothing;
  std::string note;  // of the decision
  std::vector<Guard> guards;
  /// In order, without gaps. Those at the beginning that are on the shard are taken.
  std::vector<NumberedMutation> steps;
  /// Steps that were taken elsewhere, to be marked as well.
  std::vector<std::uint32_t> marks = {};
  /// Made, and the operation closed, if all of the steps have been taken with this commit.
  std::optional<Companion> companion;
  /// Keep what undoing the steps needs.
  bool keeps_before = true;
};

struct StepsTaken {
  /// The decision that counts. With `decided_before`, it was made by an earlier request, and this one took no steps.
  std::optional<Decision> decision;
  bool decided_before = false;
  /// The guard that does not hold, by its place in the request: nothing was decided, and no steps were taken.
  std::optional<std::uint32_t> broken_guard;
  std::uint32_t taken = 0;  // the number of steps, from the first in the request, that have taken effect, now or before
  bool ended = false;       // the companion was made and the operation closed
};

/// The step that failed, and why; nothing of the request took effect.
struct StepFailure {
  Error error;
  std::uint32_t number = 0;
};

/// The effect of a step on an entity, for undoing it (OperationLedger::steps).
struct StepEffect {
  Version version = 0;                // of the entity afterwards; 0: it was erased, or there was nothing to erase
  bool kept = false;                  // false: the entity before was too large to be kept
  std::optional<std::string> before;  // its properties (property_block.h); nothing: there was no such entity
};
std::string encode_effect(const StepEffect& effect);
Result<StepEffect> decode_effect(std::string_view bytes);  // kCorruption
/// Returns the properties in a block (property_block.h). kCorruption.
Result<std::vector<Property>> properties_in(std::string_view block);

}  // namespace tidemark::table_store
