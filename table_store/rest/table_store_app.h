// The table store as a process holds it: the service and its two faces, put together from what the frame provides.
#pragma once
#include <memory>

#include "common/service/store_process.h"

namespace tidemark::table_store {

/// Also starts the collection of what deleted tables left behind.
std::unique_ptr<service::Store> make_table_store(service::StoreContext& context);

}  // namespace tidemark::table_store
