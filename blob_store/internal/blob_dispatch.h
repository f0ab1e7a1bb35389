// The server side of blob_client.h.
#pragma once
#include <optional>
#include <string_view>

#include "common/rpc/transport.h"

namespace tidemark::blob_store {
class BlobService;
/// The longest time that a call may take.
inline constexpr Duration kLongestCall = std::chrono::seconds(20);
/// Returns the shard that a call belongs to; nothing if any process can answer it.
std::optional<std::size_t> shard_of_call(const BlobService& service, std::string_view method, std::string_view payload);
/// `service` must outlive the dispatch.
rpc::Dispatch make_blob_dispatch(BlobService& service);
}  // namespace tidemark::blob_store
