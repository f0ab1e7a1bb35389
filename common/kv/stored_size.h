// The approximate size of a shard, as the database tells it without counting.
#pragma once
#include <cstdint>

namespace tidemark::kv {

struct StoredSize {
  std::uint64_t rows = 0, bytes = 0;
};

}  // namespace tidemark::kv
