// What an account has in the store, for its bounds (common/service/holdings.h).
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "common/kv/engine.h"

namespace tidemark::blob_store {

/// Calls `each` with the blobs of each container, what is kept of them, and staged blocks; of containers that can be
/// listed. From the rows of the first shard; what is in the ranges may be on any.
Result<void> each_container(const kv::Reader& rows, const std::string& account,
                            const std::function<Result<void>(std::span<const kv::KeyRange>)>& each);
/// The length of what such a row has: of a page blob, of the pages that are stored. 0 if it cannot be read.
std::uint64_t content_bytes(const kv::Reader& rows, std::string_view key, std::string_view value);

}  // namespace tidemark::blob_store
