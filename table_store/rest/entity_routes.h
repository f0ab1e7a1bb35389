// Operations on one entity: get, insert, update, merge, upsert, delete. What a write means is worked out here once, for
// single requests and for the parts of a batch.
#pragma once
#include "table_store/model/mutation.h"
#include "table_store/rest/table_call.h"

namespace tidemark::table_store {

/// GET t(keys). Synchronous: the shortest way from the socket to the engine.
Result<http::Response> get_entity(const Call& call);
/// POST t, PUT, PATCH, MERGE and DELETE t(keys).
Answer write_entity(Call& call);

/// A write as it stands in a request or in a part of a batch.
struct WriteRequest {
  std::string_view method;
  const TableUrl& url;
  std::optional<std::string_view> if_match;
  bool has_if_none_match = false;
  std::optional<std::string_view> content_type;
  std::string_view body;
};
struct EntityWrite {
  std::string partition_key;
  Mutation mutation;
};
/// Settles kind, keys and condition. kInvalidInput, kPropertiesNeedValue, kMissingRequiredHeader, kMethodNotAllowed,
/// and those of check_body_type().
Result<EntityWrite> read_write(const WriteRequest& request);
/// Letters and key range; kAuthorization*.
Result<void> allow_write(const Call& call, const EntityWrite& write);

}  // namespace tidemark::table_store
