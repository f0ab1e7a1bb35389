// Writes of workers: under the fence of an operation, and never over something newer. Plain values.
#pragma once
#include <cstdint>
#include <optional>

#include "common/base/operation_ledger.h"

namespace tidemark::blob_store {

using tidemark::WriteOutcome;

/// What a worker writes under: refused if its operation went on without it (kFenced), and of no effect over a copy of
/// something newer.
struct FencedWrite {
  Fence fence;
  std::int64_t source_version = 0;
  /// Only in place of the copy of exactly this version: kSuperseded if anything else is there, or nothing.
  std::optional<std::int64_t> replaces = {};
};

}  // namespace tidemark::blob_store
