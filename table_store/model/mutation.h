// Changes to the entities of one partition of one table, applied together or not at all.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/base/operation_ledger.h"
#include "table_store/model/entity.h"

namespace tidemark::table_store {

using tidemark::Fence;
using tidemark::OperationLedger;
using tidemark::WriteOutcome;

enum class MutationKind : std::uint8_t {
  kInsert = 1,           // kEntityAlreadyExists
  kReplace = 2,          // the entity must exist: kResourceNotFound, kUpdateConditionNotSatisfied
  kMerge = 3,            // likewise
  kInsertOrReplace = 4,  // with source_version: "put if newer"
  kInsertOrMerge = 5,
  kErase = 6,  // kResourceNotFound, kUpdateConditionNotSatisfied
  kLast = kErase,
};

struct Mutation {
  MutationKind kind = MutationKind::kInsert;
  std::string row_key;
  /// For replace, merge and erase: the version that the entity must have; nothing means any ('*').
  std::optional<Version> if_version;
  std::vector<Property> properties;
  /// For kInsertOrReplace and kErase: nothing is written (kSuperseded) if the effective version of the entity, which is
  /// its source_version or else its version, is newer than this. If its source_version is equal: kUnchanged.
  std::optional<Version> source_version;
  /// kInsert and kInsertOrReplace with source_version: the written entity is no copy but the original, which comes
  /// back.
  bool restores = false;
  /// kErase, kReplace, kMerge, kInsert: report kMissing or kConflict for a failed condition instead of failing the
  /// whole transaction. kInsertOrReplace with source_version: replace copies only; kConflict for entities that were put
  /// there directly.
  bool lenient = false;
  /// kInsertOrReplace with source_version: marks the written row. There and for kErase: only a row with this mark is
  /// replaced or erased; kConflict for any other. Without a mark, mutations with source_version leave marked rows
  /// alone: kConflict; any other write is free to replace them and leaves no mark.
  std::optional<Origin> origin = {};
  /// kMerge and kInsertOrMerge: amounts that are added to numbers of the entity, in the type that the entity has; a
  /// property that it lacks begins at zero. kInvalidInput if the property is no number, or the sum does not fit.
  std::vector<Property> adds = {};
};

/// Changes of one partition.
struct PartitionMutations {
  std::string table, partition_key;
  std::vector<Mutation> mutations;
};

struct MutationOutcome {
  WriteOutcome kind = WriteOutcome::kApplied;
  Version version = 0;                         // of the entity now; 0 if it is gone
  std::optional<Version> source_version = {};  // of the entity now, if it is a copy; not set by refusals
};

/// The reason why a transaction failed, and the index of the mutation at fault, if it is one of them.
struct MutationError : Error {
  MutationError(Error error, std::optional<std::size_t> at = {}) : Error(std::move(error)), index(at) {}
  std::optional<std::size_t> index;
};

/// A Result<T> that also names the failed mutation; where that does not matter, it is used as a Result<T>.
template <class T>
struct [[nodiscard]] MutationResult : std::expected<T, MutationError> {
  using std::expected<T, MutationError>::expected;
  [[nodiscard]] bool failed_with(ErrorCode code) const { return !this->has_value() && this->error().code == code; }
};

}  // namespace tidemark::table_store
