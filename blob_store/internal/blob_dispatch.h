// The server side of blob_client.h.
#pragma once
#include <optional>
#include <string_view>

#include "common/rpc/transport.h"

namespace tidemark::blob_store {
class BlobService;
/// No call takes longer.
inline constexpr Duration kLongestCall = std::chrono::seconds(20);
/// The shard that a call belongs to; nothing: it can be answered anywhere.
std::optional<std::size_t> shard_of_call(const BlobService& service, std::string_view method, std::string_view payload);
/// `service` must outlive the dispatch.
rpc::Dispatch make_blob_dispatch(BlobService& service);
}  // namespace tidemark::blob_store
