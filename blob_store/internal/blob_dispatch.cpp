#include "blob_store/internal/blob_dispatch.h"

#include "blob_store/storage/served_calls.h"

namespace tidemark::blob_store {

rpc::Dispatch make_blob_dispatch(BlobService& service) { return rpc::make_dispatch<ServedCalls>(service); }

}  // namespace tidemark::blob_store
