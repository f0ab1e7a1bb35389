// What an account has in a store: how many tables, queues or containers, and how many bytes. A store says where its
// rows are (Holdings); the rest is alike for all. Calls block; from any thread.
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
  /// Calls `each` with the rows of each table, queue or container of the account. Those that it cannot list do not
  /// count.
  std::function<Result<void>(const kv::Reader& rows, const std::string& account, const EachUnit& each)> each_unit;
  /// How many bytes a row stands for. Empty: its own, so that what the engine estimates of a range is of use.
  std::function<std::uint64_t(const kv::Reader& rows, std::string_view key, std::string_view value)> weigh;
  /// Each unit may have rows on any shard, and the first has the names of all (docs/scale.md). Otherwise each is on one
  /// shard, which also has its name.
  bool divided = false;
};

/// About how many bytes a range takes up; nothing if nobody knows.
using EstimateBytes = std::function<std::optional<std::uint64_t>(const kv::KeyRange& range)>;

struct MeasuredShard {
  const kv::Engine& engine;
  EstimateBytes estimate;
};

struct Amounts {
  std::uint64_t units = 0;
  std::optional<std::uint64_t> bytes;  // nothing: they cannot be estimated
};
/// At once: the units exactly, the bytes by the engine's estimate, which has in it what was deleted lately.
Result<Amounts> estimate(std::span<const MeasuredShard> shards, const Holdings& holdings, const std::string& account);

/// Asked after every so many bytes that were read; false ends the count.
using PaceCount = std::function<bool(std::uint64_t bytes)>;
/// Row by row: no more than was there at some time while it took. Keeps no snapshot for long. kCancelled.
Result<Amounts> count(std::span<const MeasuredShard> shards, const Holdings& holdings, const PaceCount& pace,
                      const std::string& account);

}  // namespace tidemark::service
