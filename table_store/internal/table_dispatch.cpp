#include "table_store/internal/table_dispatch.h"

#include "table_store/storage/served_calls.h"

namespace tidemark::table_store {

rpc::Dispatch make_table_dispatch(TableService& service) { return rpc::make_dispatch<ServedCalls>(service); }

}  // namespace tidemark::table_store
