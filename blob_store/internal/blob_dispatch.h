// The server side of blob_client.h.
#pragma once
#include "common/rpc/transport.h"

namespace tidemark::blob_store {
class BlobService;
/// `service` must outlive the dispatch.
rpc::Dispatch make_blob_dispatch(BlobService& service);
}  // namespace tidemark::blob_store
