// The blob store as a process's Store: authenticates, routes, renders errors. Thread safe.
#pragma once
#include <memory>

#include "common/service/store_process.h"

namespace tidemark::blob_store {

std::unique_ptr<service::Store> make_blob_store(service::StoreContext& context);

}  // namespace tidemark::blob_store
