#pragma once
#include <cstdint>

namespace tidemark::kv {

/// About how much a shard has, by what the database tells without counting.
struct StoredSize {
  std::uint64_t rows = 0, bytes = 0;
};

}  // namespace tidemark::kv
