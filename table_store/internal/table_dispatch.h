// The server side of table_client.h.
#pragma once
#include "common/rpc/transport.h"

namespace tidemark::table_store {
class TableService;
/// `service` must outlive the dispatch.
rpc::Dispatch make_table_dispatch(TableService& service);
}  // namespace tidemark::table_store
