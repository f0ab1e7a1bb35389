// What the service properties of an account say of deleted blobs.
#pragma once
#include <cstdint>
#include <string_view>

#include "common/kv/engine.h"

namespace tidemark::blob_store {

/// For how many days deleted blobs of the account are retained; 0: not at all. From rows of the first shard.
Result<std::uint32_t> retained_days(const kv::Reader& rows, std::string_view account);

}  // namespace tidemark::blob_store
