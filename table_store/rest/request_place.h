// Where a request belongs, if processes share the shards of the tables (docs/scale.md, Owners).
#pragma once
#include <optional>

#include "common/http/text_body.h"
#include "table_store/rest/table_call.h"

namespace tidemark::table_store {

/// The shard whose owner answers the request; nothing: any process does, also what cannot be understood. Reads the body
/// if nothing else tells. kRequestBodyTooLarge.
Task<Result<std::optional<std::size_t>>> place_of(const Call& call, http::BodyReadBefore& body);

}  // namespace tidemark::table_store
