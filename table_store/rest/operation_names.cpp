// The names of the table protocol's operations in storage analytics. The request alone decides, so a refused one has a
// name as well.
#include "common/base/encoding.h"
#include "table_store/rest/table_routes.h"

namespace tidemark::table_store {
namespace {

using analytics::Operation;
using enum analytics::Access;
using enum analytics::Effect;

Operation account_operation(const service::Call& call, bool reads) {
  if (call.parameter_is("comp", "properties")) {
    return reads ? Operation{"GetTableServiceProperties", kRead} : Operation{"SetTableServiceProperties", kWrite};
  }
  return reads && call.parameter_is("comp", "stats") ? Operation{"GetTableServiceStats", kRead} : Operation{};
}

/// Names an operation on one entity: PUT and MERGE replace and merge if the request has a condition, otherwise they
/// insert as well.
Operation entity_operation(const service::Call& call, std::string_view method) {
  if (method == "GET" || method == "HEAD") return {"QueryEntity", kRead};
  if (method == "DELETE") return {"DeleteEntity", kDelete};
  const bool conditional = call.http.header("if-match").has_value();
  if (method == "PUT") return {conditional ? "UpdateEntity" : "InsertOrReplaceEntity", kWrite, kAddsBytes};
  if (method == "PATCH" || method == "MERGE")
    return {conditional ? "MergeEntity" : "InsertOrMergeEntity", kWrite, kAddsBytes};
  return {};
}

Operation operation_named(const service::Call& call, UrlKind kind, std::string_view method) {
  const bool reads = method == "GET" || method == "HEAD";
  switch (kind) {
    case UrlKind::kAccount:
      return account_operation(call, reads);
    case UrlKind::kTables:
      return reads ? Operation{"QueryTables", kRead} : Operation{"CreateTable", kWrite};
    case UrlKind::kTable:
      return reads ? Operation{"QueryTable", kRead} : Operation{"DeleteTable", kDelete, kRemovesUnit};
    case UrlKind::kBatch:
      return {"EntityGroupTransaction", kWrite};
    case UrlKind::kEntities:
      if (call.parameter_is("comp", "acl")) {
        return reads ? Operation{"GetTableACL", kRead} : Operation{"SetTableACL", kWrite};
      }
      return reads ? Operation{"QueryEntities", kRead} : Operation{"InsertEntity", kWrite, kAddsBytes};
    case UrlKind::kEntity:
      return entity_operation(call, method);
    case UrlKind::kOperation:
      return {};
  }
  return {};
}

}  // namespace

Operation TableRoutes::operation_of(const service::Call& given) const {
  const auto& call = static_cast<const Call&>(given);
  if (call.http.method == "OPTIONS") return {"TablePreflightRequest", kRead};
  if (call.batch) return {"EntityGroupTransaction", kWrite};
  if (call.read) return operation_named(call, call.url.kind, call.method);
  // The request was refused before its URL and method were read.
  const auto method = effective_method(call.http.method, call.http.headers);
  const auto url = parse_table_url(call.resource.rest);
  return method && url ? operation_named(call, url->kind, *method) : Operation();
}

std::string_view TableRoutes::name_of(const service::Call& given) const {
  const auto& call = static_cast<const Call&>(given);
  return call.read ? std::string_view(call.url.table) : std::string_view();
}

}  // namespace tidemark::table_store
