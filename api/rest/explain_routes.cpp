#include "api/explain/explain.h"
#include "api/rest/api_routes.h"
#include "api/rest/parameters.h"
#include "api/rest/render.h"
#include "common/base/encoding.h"

namespace tidemark::api {

Task<Result<http::Response>> ApiRoutes::explain(http::Request& request, std::string) {
  auto parameters = CO_TRY(Parameters::read(request, {"table", "partitionKey", "rowKey"}));
  auto table = parameters.text("table");
  jobs::EntityKey key{parameters.text("partitionKey"), parameters.text("rowKey")};
  const bool whole = parameters.has("table") && parameters.has("partitionKey") && parameters.has("rowKey");
  if (!whole || !jobs::is_table_name(table) || !is_valid_utf8(key.partition_key) || !is_valid_utf8(key.row_key)) {
    co_return fail(ErrorCode::kInvalidQueryParameterValue,
                   "table must be a table name, partitionKey and rowKey the keys of an entity; all "
                   "three are needed.");
  }
  const auto explanation =
      CO_TRY(co_await jobs::explain(jobs_, schedules_, tables_, objects_, clock_, std::move(table), std::move(key)));
  co_return json_response(200, to_json(explanation));
}

}  // namespace tidemark::api
