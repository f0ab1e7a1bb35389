// The amounts that an account has in a store: how many tables, queues or containers, and how many bytes. A store says
// where its rows are (Holdings); the rest is the same for all stores. Calls block; from any thread.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "common/kv/engine.h"

namespace tidemark::service {

struct Holdings {
  using EachUnit = std::function<Result<void>(std::span<const kv::KeyRange> rows)>;
  /// Calls `each` with the rows of each table, queue or container of the account. Units that it cannot list do not
  /// count.
  std::function<Result<void>(const kv::Reader& rows, const std::string& account, const EachUnit& each)> each_unit;
  /// Returns how many bytes a row stands for. Empty: the row's own size, so that the engine's estimate of a range is
  /// usable.
  std::function<std::uint64_t(const kv::Reader& rows, std::string_view key, std::string_view value)> weigh;
  /// True: each unit may have rows on any shard, and the first shard has the names of all units (docs/scale.md). False:
  /// each unit is on one shard, which also has its name.
  bool divided = false;
};

/// Returns about how many bytes a range takes up; nothing if that is unknown.
using EstimateBytes = std::function<std::optional<std::uint64_t>(const kv::KeyRange& range)>;

struct MeasuredShard {
  const kv::Engine& engine;
  EstimateBytes estimate;
};

struct Amounts {
  std::uint64_t units = 0;
  std::optional<std::uint64_t> bytes;  // nothing: they cannot be estimated
};
/// Answers at once: counts the units exactly, and takes the bytes from the engine's estimate, which includes rows that
/// were deleted lately.
Result<Amounts> estimate(std::span<const MeasuredShard> shards, const Holdings& holdings, const std::string& account);

/// Called each time so many bytes have been read; returns false to end the count.
using PaceCount = std::function<bool(std::uint64_t bytes)>;
/// Counts row by row. The result is at most the largest size during the count. Keeps no snapshot for long. kCancelled.
Result<Amounts> count(std::span<const MeasuredShard> shards, const Holdings& holdings, const PaceCount& pace,
                      const std::string& account);

}  // namespace tidemark::service
