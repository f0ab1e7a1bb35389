#include "table_store/rest/request_place.h"

#include "table_store/rest/batch_routes.h"
#include "table_store/rest/fencing.h"

namespace tidemark::table_store {
namespace {

using service::Place;

Place of_partition(const Call& call, std::string_view table, std::string_view partition_key) {
  return call.service.shard_of(call.account(), table, partition_key);
}

Place of_operation(const Call& call) {
  const auto fencing = read_fencing(call.http.headers);
  if (!fencing || !fencing->fence) return std::nullopt;
  return call.service.home_of(call.account(), fencing->fence->operation_id);
}

Place of_insert(const Call& call, std::string_view body) {
  const auto entity = parse_entity_json(body);
  if (!entity || !entity->partition_key) return std::nullopt;
  return of_partition(call, call.url.table, *entity->partition_key);
}

Place of_batch(const Call& call, std::string_view body) {
  const auto changed = partition_of_batch(call, body);
  return changed ? of_partition(call, changed->table, changed->partition_key) : std::nullopt;
}

bool is_insert(const Call& call) {
  return call.url.kind == UrlKind::kEntities && call.method == "POST" && call.parameter("comp") != "acl";
}

/// Returns the place of a request whose URL and headers decide it.
Place place_by_head(const Call& call) {
  const bool reads = call.method == "GET" || call.method == "HEAD";
  const auto& url = call.url;
  if (url.kind == UrlKind::kEntity) return of_partition(call, url.table, url.partition_key);
  if (reads) return std::nullopt;
  if (url.kind == UrlKind::kOperation) return of_operation(call);
  return service::kCatalogue;
}

}  // namespace

Task<Result<Place>> place_of_request(const Call& call, http::BodyReadBefore& body) {
  if (call.url.kind == UrlKind::kBatch) co_return of_batch(call, CO_TRY(co_await body.read(kMaxBody)));
  if (is_insert(call)) co_return of_insert(call, CO_TRY(co_await body.read(kMaxBody)));
  co_return place_by_head(call);
}

}  // namespace tidemark::table_store
