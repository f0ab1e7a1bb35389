#include "api/explain/explain.h"
#include "api/rest/api_routes.h"
#include "api/rest/parameters.h"
#include "api/rest/render.h"
#include "common/base/encoding.h"

namespace tidemark::api {

Task<http::Response> ApiRoutes::explain(http::Request& request, std::string) {
  auto parameters = Parameters::read(request, {"table", "partitionKey", "rowKey"});
  if (!parameters) co_return problem(parameters.error(), request.request_id);
  auto table = parameters->text("table");
  jobs::EntityKey key{parameters->text("partitionKey"), parameters->text("rowKey")};
  const bool whole = parameters->has("table") && parameters->has("partitionKey") && parameters->has("rowKey");
  if (!whole || !jobs::is_table_name(table) || !is_valid_utf8(key.partition_key) || !is_valid_utf8(key.row_key)) {
    const auto error = make_error(ErrorCode::kInvalidQueryParameterValue,
                                  "table must be a table name, partitionKey and rowKey the keys of an entity; all "
                                  "three are needed.");
    co_return problem(error, request.request_id);
  }
  const auto explanation =
      co_await jobs::explain(jobs_, schedules_, tables_, objects_, clock_, std::move(table), std::move(key));
  if (!explanation) co_return problem(explanation.error(), request.request_id);
  co_return json_response(200, to_json(*explanation));
}

}  // namespace tidemark::api
