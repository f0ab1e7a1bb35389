// Operations on one entity: get, insert, update, merge, upsert, delete. Reads writes from single requests and from the
// parts of a batch.
#pragma once
#include "table_store/model/mutation.h"
#include "table_store/rest/table_call.h"

namespace tidemark::table_store {

/// Serves GET t(keys). Synchronous, which is the shortest way from the socket to the engine.
Result<http::Response> get_entity(Call& call);
/// Does the same in the process that serves the partition, which remembers its rows.
Answer get_entity_anywhere(Call& call);
/// Serves POST t, and PUT, PATCH, MERGE and DELETE t(keys).
Answer write_entity(Call& call);

/// A write in a request or in a part of a batch.
struct WriteRequest {
  std::string_view method;
  const TableUrl& url;
  const HeaderList& headers;
  std::string_view body;
};
struct EntityWrite {
  std::string partition_key;
  Mutation mutation;
};
/// Determines kind, keys and condition. kInvalidInput, kPropertiesNeedValue, kMissingRequiredHeader, kMethodNotAllowed,
/// and the errors of check_body_type().
Result<EntityWrite> read_write(const WriteRequest& request);
/// Checks permissions and key range; kAuthorization*.
Result<void> allow_write(const Call& call, const EntityWrite& write);

}  // namespace tidemark::table_store
