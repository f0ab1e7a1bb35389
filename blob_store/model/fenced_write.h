// Writes of workers: under the fence of an operation, and never over something newer. Plain values.
#pragma once
#include <cstdint>
#include <optional>

#include "common/base/operation_ledger.h"

namespace tidemark::blob_store {

/// What a worker writes under: refused if its operation went on without it (kFenced), and of no effect over a copy of
/// something newer.
struct FencedWrite {
  Fence fence;
  std::int64_t source_version = 0;
  /// Only in place of the copy of exactly this version: kSuperseded if anything else is there, or nothing.
  std::optional<std::int64_t> replaces = {};
};

enum class WriteOutcome : std::uint8_t {
  kApplied = 1,
  kSuperseded = 2,  // a newer one is there
  kUnchanged = 3,   // a copy of the same version is there already
  kMissing = 4,     // nothing to erase
  kLast = kMissing,
};

}  // namespace tidemark::blob_store
