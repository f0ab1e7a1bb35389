// The table store for its process: the service and its two faces.
#pragma once
#include <memory>

#include "common/service/store_process.h"

namespace tidemark::table_store {

/// Also starts collecting the rows of deleted tables.
std::unique_ptr<service::Store> make_table_store(service::StoreContext& context);

}  // namespace tidemark::table_store
