// A store's shards in memory.
#pragma once
#include <memory>
#include <vector>

#include "common/shards/shards.h"
#include "tests/support/memory_engine.h"

namespace tidemark::kv {

inline std::vector<std::unique_ptr<Engine>> make_memory_engines(std::size_t count) {
  std::vector<std::unique_ptr<Engine>> engines;
  while (engines.size() < count) engines.push_back(make_memory_engine());
  return engines;
}

/// All shards have one clock; the assignment of names to shards is always the same.
inline shards::Shards shards_of(const std::vector<std::unique_ptr<Engine>>& engines, const Clock& ages) {
  shards::Shards shards;
  for (const auto& engine : engines) shards.all.push_back({*engine, ages});
  if (engines.size() > 1) shards.placement = shards::Placement(engines.size(), shards::Placement::Key{1, 2, 3});
  return shards;
}

}  // namespace tidemark::kv
