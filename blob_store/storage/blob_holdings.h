// Tells how much an account has in the store, for its limits (common/service/holdings.h).
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "common/kv/engine.h"

namespace tidemark::blob_store {

/// Calls `each` for each container that can be listed, with the ranges of its blobs, its kept blobs and its staged
/// blocks. `rows` are those of the first shard; the rows in the ranges may be on any shard.
Result<void> each_container(const kv::Reader& rows, const std::string& account,
                            const std::function<Result<void>(std::span<const kv::KeyRange>)>& each);
/// Returns the length of the content of such a row; for a page blob, that of its stored pages. 0 if it cannot be read.
std::uint64_t content_bytes(const kv::Reader& rows, std::string_view key, std::string_view value);

}  // namespace tidemark::blob_store
