#include "table_store/rest/entity_routes.h"

#include "table_store/odata/etag.h"
#include "table_store/rest/fencing.h"
#include "table_store/rest/query_routes.h"

namespace tidemark::table_store {
namespace {

/// Percent-encoded keys make locations of up to 9 KiB, and an answer carries the location twice. Common clients refuse
/// answers with more than 16 KiB of headers, after the insert has happened; they never read such a location.
constexpr std::size_t kMaxLocation = 6UL << 10;

bool is_merge(std::string_view method) { return method == "PATCH" || method == "MERGE"; }

Result<std::string> settle_key(std::optional<std::string>& in_body, const std::string& in_url) {
  if (in_body && *in_body != in_url) {
    return fail(ErrorCode::kInvalidInput, "The keys in the body do not agree with the keys in the URL.");
  }
  return in_url;
}

Result<EntityWrite> read_insert(const WriteRequest& request) {
  auto body = TRY(parse_entity_json(request.body));
  if (!body.partition_key || !body.row_key) return fail(ErrorCode::kPropertiesNeedValue);
  EntityWrite write;
  write.partition_key = std::move(*body.partition_key);
  write.mutation.kind = MutationKind::kInsert;
  write.mutation.row_key = std::move(*body.row_key);
  write.mutation.properties = std::move(body.properties);
  return write;
}

MutationKind update_kind(std::string_view method, bool conditional) {
  if (is_merge(method)) return conditional ? MutationKind::kMerge : MutationKind::kInsertOrMerge;
  return conditional ? MutationKind::kReplace : MutationKind::kInsertOrReplace;
}

Result<EntityWrite> read_update(const WriteRequest& request) {
  auto body = TRY(parse_entity_json(request.body));
  auto partition_key = TRY(settle_key(body.partition_key, request.url.partition_key));
  auto row_key = TRY(settle_key(body.row_key, request.url.row_key));
  EntityWrite write;
  write.partition_key = std::move(partition_key);
  write.mutation.kind = update_kind(request.method, find_header(request.headers, "if-match").has_value());
  write.mutation.row_key = std::move(row_key);
  write.mutation.properties = std::move(body.properties);
  return write;
}

http::Response insert_response(const Call& call, const EntityView& inserted) {
  http::Response response;
  auto location = call.base + "/";
  append_entity_path(location, call.url.table, inserted.partition_key, inserted.row_key);
  if (location.size() > kMaxLocation) location.clear();
  response.set("ETag", etag_of(inserted.version));
  if (begin_created(response, call, location)) append_entity_answer(response.body, call.scope(), inserted);
  return response;
}

}  // namespace

Result<EntityWrite> read_write(const WriteRequest& request) {
  bool insert = request.method == "POST";
  bool update = request.method == "PUT" || is_merge(request.method);
  bool erase = request.method == "DELETE";
  if (!(insert || update || erase) || insert != (request.url.kind == UrlKind::kEntities)) {
    return fail(ErrorCode::kMethodNotAllowed);
  }
  if (!insert && find_header(request.headers, "if-none-match")) {
    return fail(ErrorCode::kInvalidInput, "If-None-Match is not allowed here.");
  }
  if (!erase) TRY(check_body_type(find_header(request.headers, "content-type")));
  if (insert) return read_insert(request);
  const auto if_match = find_header(request.headers, "if-match");
  std::optional<Version> if_version;
  if (if_match) if_version = TRY(parse_if_match(*if_match));
  if (update) {
    auto write = read_update(request);
    if (write) write->mutation.if_version = if_version;
    return write;
  }
  if (!if_match) return fail(ErrorCode::kMissingRequiredHeader, "A delete needs the header If-Match.");
  EntityWrite write;
  write.partition_key = request.url.partition_key;
  write.mutation.kind = MutationKind::kErase;
  write.mutation.row_key = request.url.row_key;
  write.mutation.if_version = if_version;
  return write;
}

Result<void> allow_write(const Call& call, const EntityWrite& write) {
  using enum MutationKind;
  const auto kind = write.mutation.kind;
  const bool upserts = kind == kInsertOrReplace || kind == kInsertOrMerge;
  auth::Need need{auth::ResourceType::kObject, kind == kInsert ? "a" : kind == kErase ? "d" : "u"};
  if (upserts) need = {auth::ResourceType::kObject, {}, "au"};
  TRY(call.allow(need));
  if (!call.bounds().contains(write.partition_key, write.mutation.row_key)) {
    return fail(ErrorCode::kAuthorizationFailure);
  }
  return {};
}

namespace {

/// A read of one entity: the caller may have it, and the request can be understood.
struct PointRead {
  std::vector<std::string> select;
  http::Response response;
};

Result<PointRead> begin_read(Call& call) {
  TRY(call.allow({auth::ResourceType::kObject, "r"}));
  const auto& url = call.url;
  if (call.identity.scheme == auth::Scheme::kServiceSas && !call.bounds().contains(url.partition_key, url.row_key)) {
    return fail(ErrorCode::kAuthorizationFailure);
  }
  TRY(call.take_items({url.table, url.partition_key}, 1));
  call.note_part(url.table, url.partition_key);
  return PointRead{TRY(parse_select(call.parameter("$select"))), {}};
}

void render_read(const Call& call, PointRead& read, const EntityView& entity) {
  auto scope = call.scope();
  scope.select = &read.select;
  read.response.set("Content-Type", json_content_type(call.level));
  read.response.set("ETag", etag_of(entity.version));
  append_entity_answer(read.response.body, scope, entity);
}

}  // namespace

Result<http::Response> get_entity(Call& call) {
  auto read = TRY(begin_read(call));
  const auto& url = call.url;
  const auto render = [&](const EntityView& entity) { render_read(call, read, entity); };
  const bool found = TRY(call.service.view(call.account(), url.table, url.partition_key, url.row_key, render));
  if (!found) return fail(ErrorCode::kResourceNotFound);
  return std::move(read.response);
}

Answer get_entity_anywhere(Call& call) {
  const auto& url = call.url;
  calls::Get get{call.account(), url.table, url.partition_key, url.row_key};
  if (call.service.is_here(call.service.shard_of(get.account, get.table, get.partition_key))) {
    co_return get_entity(call);
  }
  auto read = CO_TRY(begin_read(call));
  const auto entity = CO_TRY(co_await call.service.call(std::move(get)));
  if (!entity) co_return fail(ErrorCode::kResourceNotFound);
  const auto block = property_block(entity->properties);
  render_read(call, read, {entity->partition_key, entity->row_key, entity->version, entity->source_version, block});
  co_return std::move(read.response);
}

Answer write_entity(Call& call) {
  auto body = CO_TRY(co_await call.http.body->read_all(kMaxBody));
  auto write = CO_TRY(read_write({call.method, call.url, call.http.headers, body}));
  auto fencing = CO_TRY(read_fencing(call.http.headers));
  CO_TRY(apply_source_version(fencing, write.mutation));
  CO_TRY(allow_write(call, write));
  CO_TRY(call.take_items({call.url.table, write.partition_key}, 1));
  call.note_part(call.url.table, write.partition_key);
  const bool tell_outcome = fencing.asked();
  bool insert = write.mutation.kind == MutationKind::kInsert;
  bool erase = write.mutation.kind == MutationKind::kErase;
  // The answer needs these after the mutation has been consumed.
  const auto partition_key = write.partition_key;
  const auto row_key = write.mutation.row_key;
  std::vector<Mutation> mutations;
  mutations.push_back(std::move(write.mutation));
  auto done = CO_TRY(co_await call.service.mutate_anywhere(
      call.account(), call.url.table, std::move(write.partition_key), std::move(mutations), std::move(fencing.fence)));
  const auto& outcome = done.outcomes.at(0);
  http::Response response;
  if (insert) {
    const EntityView inserted{partition_key, row_key, outcome.version, {}, done.blocks.at(0)};
    response = insert_response(call, inserted);
  } else {
    response.status = 204;
    if (!erase) response.set("ETag", etag_of(outcome.version));
  }
  if (tell_outcome) {
    for (const auto& [name, value] : outcome_headers(outcome)) response.set(name, value);
  }
  co_return response;
}

}  // namespace tidemark::table_store
