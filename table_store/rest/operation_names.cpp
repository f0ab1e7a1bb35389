// What storage analytics calls the operations of the table protocol. The request alone decides, so a refused one has a
// name as well.
#include "common/base/encoding.h"
#include "table_store/rest/table_routes.h"

namespace tidemark::table_store {
namespace {

using analytics::Operation;
using enum analytics::Access;

Operation account_operation(const service::Call& call, bool reads) {
  if (call.parameter_is("comp", "properties")) {
    return reads ? Operation{"GetTableServiceProperties", kRead} : Operation{"SetTableServiceProperties", kWrite};
  }
  return reads && call.parameter_is("comp", "stats") ? Operation{"GetTableServiceStats", kRead} : Operation{};
}

/// Of one entity: PUT and MERGE replace and merge if the request has a condition, else they insert as well.
Operation entity_operation(const service::Call& call, std::string_view method) {
  const bool conditional = call.http.header("if-match").has_value();
  if (method == "GET" || method == "HEAD") return {"QueryEntity", kRead};
  if (method == "DELETE") return {"DeleteEntity", kDelete};
  if (method == "PUT") return {conditional ? "UpdateEntity" : "InsertOrReplaceEntity", kWrite};
  if (method == "PATCH" || method == "MERGE") return {conditional ? "MergeEntity" : "InsertOrMergeEntity", kWrite};
  return {};
}

}  // namespace

Operation TableRoutes::operation_of(const service::Call& call) const {
  if (call.http.method == "OPTIONS") return {"TablePreflightRequest", kRead};
  const auto method = effective_method(call.http.method, call.http.headers);
  const auto url = parse_table_url(call.resource.rest);
  if (!method || !url) return {};
  const bool reads = *method == "GET" || *method == "HEAD";
  switch (url->kind) {
    case UrlKind::kAccount:
      return account_operation(call, reads);
    case UrlKind::kTables:
      return reads ? Operation{"QueryTables", kRead} : Operation{"CreateTable", kWrite};
    case UrlKind::kTable:
      return reads ? Operation{"QueryTable", kRead} : Operation{"DeleteTable", kDelete};
    case UrlKind::kBatch:
      return {"EntityGroupTransaction", kWrite};
    case UrlKind::kEntities:
      if (call.parameter_is("comp", "acl")) {
        return reads ? Operation{"GetTableACL", kRead} : Operation{"SetTableACL", kWrite};
      }
      return reads ? Operation{"QueryEntities", kRead} : Operation{"InsertEntity", kWrite};
    case UrlKind::kEntity:
      return entity_operation(call, *method);
    case UrlKind::kOperation:
      return {};
  }
  return {};
}

}  // namespace tidemark::table_store
