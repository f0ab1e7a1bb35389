// Finds the shard of a request, if processes share the shards of the tables (docs/scale.md, Owners).
#pragma once
#include "common/service/store_front.h"
#include "table_store/rest/table_call.h"

namespace tidemark::table_store {

/// Returns the shard whose owner answers the request; nothing: any process does, also for requests that cannot be
/// understood. Reads the body if nothing else tells. kRequestBodyTooLarge.
Task<Result<service::Place>> place_of_request(const Call& call, http::BodyReadBefore& body);

}  // namespace tidemark::table_store
