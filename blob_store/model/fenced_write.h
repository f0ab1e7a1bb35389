// Writes by workers, made under the fence of an operation and never over a newer version. Plain values.
#pragma once
#include <cstdint>
#include <optional>

#include "common/base/operation_ledger.h"

namespace tidemark::blob_store {

using tidemark::WriteOutcome;

/// The conditions of a worker's write. It is refused with kFenced if another attempt has taken over the operation, and
/// has no effect if the blob is a copy of a newer version.
struct FencedWrite {
  Fence fence;
  std::int64_t source_version = 0;
  /// The write replaces only a copy of exactly this version; kSuperseded if there is another blob or none.
  std::optional<std::int64_t> replaces = {};
  /// Not 0: the step of a transaction in which the blob is written (docs/transactions.md). It replaces any blob, as a
  /// client's write does, and is made once: kUnchanged if it was made before. kLeaseIdMissing.
  std::uint32_t step = 0;
};

}  // namespace tidemark::blob_store
