#include "table_store/rest/batch_routes.h"

#include <algorithm>
#include <set>

#include "common/base/encoding.h"
#include "table_store/model/limits.h"
#include "table_store/odata/etag.h"
#include "table_store/rest/batch_mime.h"
#include "table_store/rest/entity_routes.h"
#include "table_store/rest/fencing.h"
#include "table_store/rest/query_routes.h"
#include "table_store/rest/table_errors.h"

namespace tidemark::table_store {
namespace {

constexpr std::string_view kPartHead = "Content-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n";
constexpr std::string_view kCommonHeaders = "X-Content-Type-Options: nosniff\r\nCache-Control: no-cache\r\n";

/// An operation of the change set, read and checked as far as it does not depend on others.
struct BatchOperation {
  TableUrl url;
  EntityWrite write;
  Prefer prefer = Prefer::kNone;
  MetadataLevel level = MetadataLevel::kMinimal;
  // The answer needs these after the write has been consumed.
  std::string row_key;
  std::string_view content_id;
  MutationKind kind = MutationKind::kInsert;
  bool tell_outcome = false;
};

void append_header(std::string& out, std::string_view name, std::string_view value) {
  out.append(name).append(": ").append(value).append("\r\n");
}

/// `content_id`: of the operation itself.
void append_status(std::string& out, unsigned status, std::string_view content_id) {
  out.append("HTTP/1.1 ").append(std::to_string(status)).append(" ").append(http::reason_phrase(status)).append("\r\n");
  if (!content_id.empty()) append_header(out, "Content-ID", content_id);
  out += kCommonHeaders;
}

/// Returns table, keys and query of a part, from the path alone; in path style the account comes first.
Result<TableUrl> part_url(const Call& call, const BatchPart& part, std::string_view& query) {
  auto uri = split_uri(part.uri);
  query = uri.query;
  auto account = uri.path.substr(0, call.account().size());
  if (account == call.account() && uri.path.substr(account.size()).starts_with('/')) {
    uri.path.remove_prefix(account.size() + 1);
  }
  return parse_table_url(uri.path);
}

Result<MetadataLevel> part_level(const BatchPart& part, const QueryParameters& parameters) {
  return metadata_level(parameters.find("$format"), part.header("accept"));
}

/// Reads a part's headers: only a source version is allowed, since the fence is the whole transaction's.
Result<Fencing> read_part_fencing(const BatchPart& part) {
  auto fencing = read_fencing(part.headers);
  if (fencing && fencing->fence) {
    return fail(ErrorCode::kInvalidHeaderValue, "The fence of a transaction stands in the headers of the batch.");
  }
  return fencing;
}

/// Reads the batch's headers: only a fence is allowed, since each part has a source of its own.
Result<Fencing> read_batch_fencing(const Call& call) {
  auto fencing = read_fencing(call.http.headers);
  if (fencing && fencing->source_version) {
    return fail(ErrorCode::kInvalidHeaderValue, "A source version stands in the headers of its part of the batch.");
  }
  return fencing;
}

Result<BatchOperation> read_operation(const Call& call, const BatchPart& part) {
  BatchOperation out;
  std::string_view query;
  out.url = TRY(part_url(call, part, query));
  auto parameters = QueryParameters::parse(query);
  if (!parameters) return fail(ErrorCode::kInvalidInput, "The query of the URL cannot be read.");
  out.level = TRY(part_level(part, *parameters));
  out.prefer = parse_prefer(part.header("prefer"));
  auto method = TRY(effective_method(part.method, part.headers));
  out.write = TRY(read_write({method, out.url, part.headers, part.body}));
  if (is_metrics_table(out.url.table) && out.write.mutation.kind != MutationKind::kErase) {
    return fail(ErrorCode::kInsufficientAccountPermissions);
  }
  auto fencing = TRY(read_part_fencing(part));
  TRY(apply_source_version(fencing, out.write.mutation));
  out.tell_outcome = fencing.asked();
  out.row_key = out.write.mutation.row_key;
  out.content_id = part.content_id;
  out.kind = out.write.mutation.kind;
  return out;
}

/// Checks the conditions that operations of a batch must meet together.
Result<void> check_group(const BatchOperation& first, const BatchOperation& next, std::set<std::string_view>& rows) {
  if (!iequals_ascii(first.url.table, next.url.table)) {
    return fail(ErrorCode::kInvalidInput, "All operations of a batch must act on the same table.");
  }
  if (first.write.partition_key != next.write.partition_key) {
    return fail(ErrorCode::kCommandsInBatchActOnDifferentPartitions);
  }
  if (!rows.insert(next.row_key).second) return fail(ErrorCode::kInvalidDuplicateRow);
  return {};
}

void append_success(std::string& out, const Call& call, const BatchOperation& op, const EntityView& written,
                    const MutationOutcome& outcome) {
  bool insert = op.kind == MutationKind::kInsert;
  bool content = insert && op.prefer != Prefer::kNoContent;
  append_status(out, content ? 201 : 204, op.content_id);
  if (insert && op.prefer != Prefer::kNone) {
    append_header(out, "Preference-Applied", content ? "return-content" : "return-no-content");
  }
  append_header(out, "DataServiceVersion", insert ? "3.0;" : "1.0;");
  if (content) append_header(out, "Content-Type", json_content_type(op.level));
  if (insert) {
    std::string location = call.base + "/";
    append_entity_path(location, op.url.table, written.partition_key, op.row_key);
    append_header(out, "Location", location);
    if (!content) append_header(out, "DataServiceId", location);
  }
  if (op.kind != MutationKind::kErase) append_header(out, "ETag", etag_of(written.version));
  if (op.tell_outcome) {
    for (const auto& [name, value] : outcome_headers(outcome)) append_header(out, name, value);
  }
  out += "\r\n";
  if (content) {
    append_entity_answer(out, {call.base, call.account(), op.url.table, op.level, nullptr}, written);
  }
  out += "\r\n";
}

/// Appends a failure inside a 202, since the batch is well-formed. `of`: null if the operation was not read.
void append_failure(std::string& out, const Call& call, const MutationError& failure, const BatchPart* of) {
  append_status(out, http_status_of(failure.code), of != nullptr ? of->content_id : std::string_view{});
  const auto prefer = of != nullptr ? parse_prefer(of->header("prefer")) : Prefer::kNone;
  if (prefer != Prefer::kNone) {
    append_header(out, "Preference-Applied", prefer == Prefer::kContent ? "return-content" : "return-no-content");
  }
  append_header(out, "DataServiceVersion", "3.0;");
  append_header(out, "Content-Type", json_content_type(MetadataLevel::kMinimal));
  out += "\r\n";
  out += error_json(failure, call.http.request_id, call.front.now(), std::to_string(failure.index.value_or(0)) + ":");
  out += "\r\n";
}

/// Appends one change set of an answer; `parts` are its inner responses.
void append_change_set(std::string& out, const Call& call, std::string_view batch,
                       const std::vector<std::string>& parts) {
  auto changes = "changesetresponse_" + call.random.guid();  // JS splits the text at "--changesetresponse_"
  out.append("--").append(batch).append("\r\nContent-Type: multipart/mixed; boundary=").append(changes);
  out += "\r\n\r\n";
  for (const auto& part : parts) {
    out.append("--").append(changes).append("\r\n").append(kPartHead).append(part);
  }
  out.append("--").append(changes).append("--\r\n");
}

std::string new_boundary(const Call& call) { return "batchresponse_" + call.random.guid(); }

http::Response begin_response(const std::string& boundary) {
  http::Response response;
  response.status = 202;
  response.set("Content-Type", "multipart/mixed; boundary=" + boundary);
  return response;
}

/// Makes the answer to a batch whose first change set was answered by `parts`. Later ones are refused one by one.
http::Response change_set_response(const Call& call, const Batch& batch, const std::vector<std::string>& parts) {
  const auto boundary = new_boundary(call);
  auto response = begin_response(boundary);
  append_change_set(response.body, call, boundary, parts);
  if (batch.later_change_sets > 0) {
    const auto later =
        make_error(ErrorCode::kInvalidInput, "A batch has one change set. This one came later and was not executed.");
    std::vector<std::string> refusal(1);
    append_failure(refusal[0], call, later, nullptr);
    for (std::size_t i = 0; i < batch.later_change_sets; ++i) append_change_set(response.body, call, boundary, refusal);
  }
  response.body.append("--").append(boundary).append("--\r\n");
  return response;
}

/// The answer is a success even if there is no such table, so metrics must not take it as proof of one.
void hide_from_metrics(Call& call) {
  call.read = false;
  call.sampled.reset();
}

http::Response failed_change_set(Call& call, const Batch& batch, const MutationError& failure) {
  hide_from_metrics(call);
  const auto index = failure.index.value_or(0);
  std::vector<std::string> parts(1);
  append_failure(parts[0], call, failure, index < batch.changes.size() ? &batch.changes[index] : nullptr);
  return change_set_response(call, batch, parts);
}

/// Reads every operation; the first faulty one fails the batch.
std::optional<MutationError> read_operations(const Call& call, const Batch& batch, std::vector<BatchOperation>& out) {
  if (batch.more_than_allowed) {
    return MutationError(make_error(ErrorCode::kInvalidInput,
                                    "The batch request operation exceeds the maximum 100 changes per change set."),
                         kMaxBatchOperations - 1);
  }
  out.reserve(batch.changes.size());  // `rows` points into the elements
  std::set<std::string_view> rows;
  for (std::size_t i = 0; i < batch.changes.size(); ++i) {
    auto operation = read_operation(call, batch.changes[i]);
    if (!operation) return MutationError(std::move(operation.error()), i);
    out.push_back(std::move(*operation));
    auto checked = check_group(out.front(), out.back(), rows);
    if (!checked) return MutationError(std::move(checked.error()), i);
  }
  return std::nullopt;
}

/// Tells whether a failure says nothing about an operation: then the whole batch is refused, so that clients retry it
/// or give up.
bool concerns_whole_batch(ErrorCode code) { return http_status_of(code) >= 500 || code == ErrorCode::kFenced; }

Answer apply_changes(Call& call, const Batch& batch) {
  auto fencing = CO_TRY(read_batch_fencing(call));
  std::vector<BatchOperation> operations;
  if (auto failure = read_operations(call, batch, operations)) co_return failed_change_set(call, batch, *failure);
  for (auto& operation : operations) {
    call.url.table = operation.url.table;
    CO_TRY(allow_write(call, operation.write));
  }
  const auto adds = [](const BatchOperation& operation) { return operation.kind != MutationKind::kErase; };
  if (std::ranges::any_of(operations, adds)) CO_TRY(call.admit_bytes(call.http.body->bytes_read()));
  std::vector<Mutation> mutations;
  mutations.reserve(operations.size());
  for (auto& operation : operations) {
    if (fencing.asked()) operation.tell_outcome = true;
    mutations.push_back(std::move(operation.write.mutation));
  }
  auto partition_key = operations.front().write.partition_key;
  CO_TRY(call.take_items({call.url.table, partition_key}, operations.size()));
  call.note_part(call.url.table, partition_key);
  auto done = co_await call.service.mutate_anywhere(call.account(), operations.front().url.table, partition_key,
                                                    std::move(mutations), std::move(fencing.fence));
  if (!done) {
    if (concerns_whole_batch(done.error().code)) co_return fail(std::move(done.error()));
    co_return failed_change_set(call, batch, done.error());
  }
  std::vector<std::string> parts(operations.size());
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const auto& op = operations[i];
    const auto& outcome = done->outcomes.at(i);
    append_success(parts[i], call, op, {partition_key, op.row_key, outcome.version, {}, done->blocks.at(i)}, outcome);
  }
  co_return change_set_response(call, batch, parts);
}

/// Makes the answer to a query, which stands directly under the batch boundary.
http::Response query_response(const Call& call, std::string_view content_id, http::Response inner) {
  const auto boundary = new_boundary(call);
  auto response = begin_response(boundary);
  auto& out = response.body;
  out.append("--").append(boundary).append("\r\n").append(kPartHead);
  append_status(out, inner.status, content_id);
  append_header(out, "DataServiceVersion", "3.0;");
  for (const auto& [name, value] : inner.headers) {
    if (name != "X-Content-Type-Options") append_header(out, name, value);
  }
  out.append("\r\n").append(inner.body).append("\r\n--").append(boundary).append("--\r\n");
  return response;
}

Result<void> prepare_query(Call& call, const BatchPart& part) {
  std::string_view query;
  auto url = TRY(part_url(call, part, query));
  auto parameters = QueryParameters::parse(query);
  if (!parameters) return fail(ErrorCode::kInvalidInput, "The query of the URL cannot be read.");
  TRY(check_options(*parameters));
  auto level = TRY(part_level(part, *parameters));
  if (url.kind != UrlKind::kEntity && url.kind != UrlKind::kEntities) return fail(ErrorCode::kInvalidInput);
  call.url = std::move(url);
  call.parameters = std::move(*parameters);
  call.level = level;
  return {};
}

Answer answer_query(Call& call, const BatchPart& part) {
  Result<http::Response> inner = fail(ErrorCode::kInternalError);
  if (auto prepared = prepare_query(call, part); !prepared) {
    inner = fail(std::move(prepared.error()));
  } else if (call.url.kind == UrlKind::kEntity) {
    inner = get_entity(call);
  } else {
    inner = co_await query_entities(call);
  }
  if (!inner) {
    auto& error = inner.error();
    if (concerns_whole_batch(error.code) || http_status_of(error.code) == 403) co_return fail(std::move(error));
    error.message.insert(0, "0:");
    hide_from_metrics(call);
    inner = error_response(error, ErrorForm::kJson, call.http.request_id, call.front.now());
  }
  co_return query_response(call, part.content_id, std::move(*inner));
}

}  // namespace

Answer serve_batch(Call& call) {
  auto boundary = multipart_boundary(call.http.header("content-type").value_or(""));
  if (!boundary)
    co_return fail(ErrorCode::kInvalidInput, "A batch needs Content-Type multipart/mixed with a boundary.");
  auto body = CO_TRY(co_await call.http.body->read_all(kMaxBody));
  auto batch = CO_TRY(parse_batch(body, *boundary));
  const BatchPart* query = batch.query ? &*batch.query : nullptr;
  if (query == nullptr && batch.changes.size() == 1 && batch.changes[0].method == "GET") query = &batch.changes[0];
  co_return co_await (query != nullptr ? answer_query(call, *query) : apply_changes(call, batch));
}

}  // namespace tidemark::table_store
