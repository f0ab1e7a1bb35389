#include "table_store/client/table_messages.h"

#include "common/base/encoding.h"
#include "table_store/model/limits.h"
#include "table_store/storage/table_records.h"

namespace tidemark::table_store {
namespace {

// Bounds of what a count may promise; the service has the protocol's own limits.
constexpr std::uint64_t kMaxItems = 100'000;

std::unexpected<Error> malformed(std::string_view what) {
  auto error = make_error(ErrorCode::kInvalidInput);
  error.detail = "malformed internal message: " + std::string(what);
  return fail(std::move(error));
}

template <class... Texts>
std::string strings(const Texts&... texts) {
  std::string bytes;
  ByteWriter out(bytes);
  (out.string(texts), ...);
  return bytes;
}

void write_version(ByteWriter& out, const std::optional<Version>& version) {
  out.boolean(version.has_value());
  if (version) out.i64(*version);
}
std::optional<Version> read_version(ByteReader& in) {
  if (!in.boolean()) return std::nullopt;
  return in.i64();
}

void write_fence(ByteWriter& out, const Fence& fence) {
  out.string(fence.operation_id);
  out.varint(fence.epoch);
  out.string(fence.count_applied_as);
}
Fence read_fence(ByteReader& in) {
  Fence fence;
  fence.operation_id = in.string();
  fence.epoch = in.varint();
  fence.count_applied_as = in.string();
  return fence;
}

void write_mutation(ByteWriter& out, const Mutation& mutation) {
  out.u8(static_cast<std::uint8_t>(mutation.kind));
  out.string(mutation.row_key);
  write_version(out, mutation.if_version);
  write_version(out, mutation.source_version);
  out.boolean(mutation.lenient);
  write_properties(out, mutation.properties);
}
bool read_mutation(ByteReader& in, Mutation& into) {
  const auto kind = in.u8();
  if (kind < 1 || kind > 6) return false;
  into.kind = static_cast<MutationKind>(kind);
  into.row_key = in.string();
  into.if_version = read_version(in);
  into.source_version = read_version(in);
  into.lenient = in.boolean();
  return read_properties(in, into.properties);
}

void write_move(ByteWriter& out, const Move& move) {
  out.string(move.source);
  out.string(move.destination);
  out.string(move.partition_key);
  out.string(move.row_key);
  out.boolean(move.back);
  write_fence(out, move.fence);
  out.boolean(move.companion.has_value());
  if (!move.companion) return;
  out.string(move.companion->table);
  out.string(move.companion->partition_key);
  write_mutation(out, move.companion->mutation);
}
bool read_move(ByteReader& in, Move& into) {
  into.source = in.string();
  into.destination = in.string();
  into.partition_key = in.string();
  into.row_key = in.string();
  into.back = in.boolean();
  into.fence = read_fence(in);
  if (!in.boolean()) return in.ok();
  auto& companion = into.companion.emplace();
  companion.table = in.string();
  companion.partition_key = in.string();
  return read_mutation(in, companion.mutation);
}

void write_entity(ByteWriter& out, const Entity& entity) {
  out.string(entity.partition_key);
  out.string(entity.row_key);
  out.string(encode_entity(entity.version, entity.source_version, entity.properties, entity.operation));
}
bool read_entity(ByteReader& in, Entity& into) {
  into.partition_key = in.string();
  into.row_key = in.string();
  const auto record = in.string();
  return in.ok() && decode_entity(record, into).has_value();
}

}  // namespace

std::string encode(const TableRequest& r) { return strings(r.account, r.table); }
std::string encode(const ListRequest& r) { return strings(r.account, r.from); }
std::string encode(const GetRequest& r) { return strings(r.account, r.table, r.partition_key, r.row_key); }

std::string encode(const GetAllRequest& r) {
  auto bytes = strings(r.account, r.table, r.partition_key);
  ByteWriter out(bytes);
  out.varint(r.row_keys.size());
  for (const auto& row_key : r.row_keys) out.string(row_key);
  return bytes;
}

std::string encode(const QueryCall& r) {
  auto bytes = strings(r.account, r.query.table, r.query.filter);
  ByteWriter out(bytes);
  out.varint(r.query.top);
  out.string(r.query.continuation);
  out.string(r.query.operation);
  out.boolean(r.query.count_only);
  return bytes;
}

std::string encode(const MutateRequest& r) {
  auto bytes = strings(r.account, r.table, r.partition_key);
  ByteWriter out(bytes);
  out.varint(r.mutations.size());
  for (const auto& mutation : r.mutations) write_mutation(out, mutation);
  out.boolean(r.fence.has_value());
  if (r.fence) write_fence(out, *r.fence);
  return bytes;
}

std::string encode(const MoveAllRequest& r) {
  auto bytes = strings(r.account);
  ByteWriter out(bytes);
  out.varint(r.moves.size());
  for (const auto& move : r.moves) write_move(out, move);
  return bytes;
}

std::string encode(const FencedDeleteRequest& r) {
  auto bytes = strings(r.account, r.table);
  ByteWriter out(bytes);
  write_fence(out, r.fence);
  return bytes;
}

std::string encode(const OperationRequest& r) {
  auto bytes = strings(r.account, r.operation_id);
  ByteWriter(bytes).varint(r.epoch);
  return bytes;
}

std::string encode(const CountRequest& r) {
  auto bytes = strings(r.account);
  ByteWriter out(bytes);
  write_fence(out, r.fence);
  out.varint(r.amount);
  return bytes;
}

Result<TableRequest> decode_table_request(std::string_view bytes) {
  ByteReader in(bytes);
  TableRequest r;
  r.account = in.string();
  r.table = in.string();
  if (!in.finished()) return malformed("table");
  return r;
}

Result<ListRequest> decode_list_request(std::string_view bytes) {
  ByteReader in(bytes);
  ListRequest r;
  r.account = in.string();
  r.from = in.string();
  if (!in.finished()) return malformed("list");
  return r;
}

Result<GetRequest> decode_get_request(std::string_view bytes) {
  ByteReader in(bytes);
  GetRequest r;
  r.account = in.string();
  r.table = in.string();
  r.partition_key = in.string();
  r.row_key = in.string();
  if (!in.finished()) return malformed("get");
  return r;
}

Result<GetAllRequest> decode_get_all_request(std::string_view bytes) {
  ByteReader in(bytes);
  GetAllRequest r;
  r.account = in.string();
  r.table = in.string();
  r.partition_key = in.string();
  const auto count = in.varint();
  if (count > kMaxGets) return malformed("get all");
  for (std::uint64_t i = 0; i < count; ++i) r.row_keys.emplace_back(in.string());
  if (!in.finished()) return malformed("get all");
  return r;
}

Result<QueryCall> decode_query_request(std::string_view bytes) {
  ByteReader in(bytes);
  QueryCall r;
  r.account = in.string();
  r.query.table = in.string();
  r.query.filter = in.string();
  const auto top = in.varint();
  r.query.continuation = in.string();
  r.query.operation = in.string();
  r.query.count_only = in.boolean();
  if (!in.finished() || top > kMaxPageEntities) return malformed("query");
  r.query.top = static_cast<std::uint32_t>(top);
  return r;
}

Result<MutateRequest> decode_mutate_request(std::string_view bytes) {
  ByteReader in(bytes);
  MutateRequest r;
  r.account = in.string();
  r.table = in.string();
  r.partition_key = in.string();
  const auto count = in.varint();
  if (count > kMaxItems) return malformed("mutate");
  for (std::uint64_t i = 0; i < count; ++i) {
    if (!read_mutation(in, r.mutations.emplace_back())) return malformed("mutation");
  }
  if (in.boolean()) r.fence = read_fence(in);
  if (!in.finished()) return malformed("mutate");
  return r;
}

Result<MoveAllRequest> decode_move_all_request(std::string_view bytes) {
  ByteReader in(bytes);
  MoveAllRequest r;
  r.account = in.string();
  const auto count = in.varint();
  if (count > kMaxMoves) return malformed("move all");
  for (std::uint64_t i = 0; i < count; ++i) {
    if (!read_move(in, r.moves.emplace_back())) return malformed("move");
  }
  if (!in.finished()) return malformed("move all");
  return r;
}

Result<FencedDeleteRequest> decode_fenced_delete_request(std::string_view bytes) {
  ByteReader in(bytes);
  FencedDeleteRequest r;
  r.account = in.string();
  r.table = in.string();
  r.fence = read_fence(in);
  if (!in.finished()) return malformed("fenced delete");
  return r;
}

Result<OperationRequest> decode_operation_request(std::string_view bytes) {
  ByteReader in(bytes);
  OperationRequest r;
  r.account = in.string();
  r.operation_id = in.string();
  r.epoch = in.varint();
  if (!in.finished()) return malformed("operation");
  return r;
}

Result<CountRequest> decode_count_request(std::string_view bytes) {
  ByteReader in(bytes);
  CountRequest r;
  r.account = in.string();
  r.fence = read_fence(in);
  r.amount = in.varint();
  if (!in.finished()) return malformed("count");
  return r;
}

std::string encode_exists_reply(bool exists) { return std::string(1, exists ? '\1' : '\0'); }
Result<bool> decode_exists_reply(std::string_view bytes) {
  if (bytes.size() != 1 || static_cast<unsigned char>(bytes[0]) > 1) return malformed("exists reply");
  return bytes[0] == 1;
}

std::string encode_list_reply(const TablePage& page) {
  std::string bytes;
  ByteWriter out(bytes);
  out.varint(page.names.size());
  for (const auto& name : page.names) out.string(name);
  out.boolean(page.next.has_value());
  if (page.next) out.string(*page.next);
  return bytes;
}
Result<TablePage> decode_list_reply(std::string_view bytes) {
  ByteReader in(bytes);
  TablePage page;
  const auto count = in.varint();
  for (std::uint64_t i = 0; i < count && in.ok(); ++i) page.names.emplace_back(in.string());
  if (in.boolean()) page.next = std::string(in.string());
  if (!in.finished()) return malformed("list reply");
  return page;
}

std::string encode_get_reply(const std::optional<Entity>& entity) {
  std::string bytes;
  ByteWriter out(bytes);
  out.boolean(entity.has_value());
  if (entity) write_entity(out, *entity);
  return bytes;
}
Result<std::optional<Entity>> decode_get_reply(std::string_view bytes) {
  ByteReader in(bytes);
  std::optional<Entity> entity;
  if (in.boolean() && !read_entity(in, entity.emplace())) return malformed("get reply");
  if (!in.finished()) return malformed("get reply");
  return entity;
}

std::string encode_get_all_reply(const std::vector<std::optional<Entity>>& entities) {
  std::string bytes;
  ByteWriter out(bytes);
  out.varint(entities.size());
  for (const auto& entity : entities) {
    out.boolean(entity.has_value());
    if (entity) write_entity(out, *entity);
  }
  return bytes;
}
Result<std::vector<std::optional<Entity>>> decode_get_all_reply(std::string_view bytes) {
  ByteReader in(bytes);
  std::vector<std::optional<Entity>> entities;
  const auto count = in.varint();
  if (count > kMaxGets) return malformed("get all reply");
  for (std::uint64_t i = 0; i < count; ++i) {
    auto& entity = entities.emplace_back();
    if (in.boolean() && !read_entity(in, entity.emplace())) return malformed("get all reply");
  }
  if (!in.finished()) return malformed("get all reply");
  return entities;
}

std::string encode_query_reply(const QueryPage& page) {
  std::string bytes;
  ByteWriter out(bytes);
  out.varint(page.count);
  out.varint(page.entities.size());
  for (const auto& entity : page.entities) write_entity(out, entity);
  out.string(page.continuation);
  return bytes;
}
Result<QueryPage> decode_query_reply(std::string_view bytes) {
  ByteReader in(bytes);
  QueryPage page;
  page.count = in.varint();
  const auto count = in.varint();
  if (count > kMaxItems) return malformed("query reply");
  for (std::uint64_t i = 0; i < count; ++i) {
    if (!read_entity(in, page.entities.emplace_back())) return malformed("query reply");
  }
  page.continuation = in.string();
  if (!in.finished()) return malformed("query reply");
  return page;
}

std::string encode_mutate_reply(const std::vector<MutationOutcome>& outcomes) {
  std::string bytes;
  ByteWriter out(bytes);
  out.varint(outcomes.size());
  for (const auto& outcome : outcomes) {
    out.u8(static_cast<std::uint8_t>(outcome.kind));
    out.i64(outcome.version);
  }
  return bytes;
}
Result<std::vector<MutationOutcome>> decode_mutate_reply(std::string_view bytes) {
  ByteReader in(bytes);
  std::vector<MutationOutcome> outcomes;
  const auto count = in.varint();
  for (std::uint64_t i = 0; i < count && in.ok(); ++i) {
    const auto kind = in.u8();
    if (kind < 1 || kind > 5) return malformed("mutate reply");
    outcomes.push_back({static_cast<OutcomeKind>(kind), in.i64()});
  }
  if (!in.finished()) return malformed("mutate reply");
  return outcomes;
}

std::string encode_move_all_reply(const std::vector<Result<void>>& outcomes) {
  std::string bytes;
  ByteWriter out(bytes);
  out.varint(outcomes.size());
  for (const auto& outcome : outcomes) out.varint(outcome ? 0 : static_cast<std::uint16_t>(outcome.error().code));
  return bytes;
}
Result<std::vector<Result<void>>> decode_move_all_reply(std::string_view bytes) {
  ByteReader in(bytes);
  std::vector<Result<void>> outcomes;
  const auto count = in.varint();
  if (count > kMaxMoves) return malformed("move all reply");
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto code = in.varint();
    if (code > UINT16_MAX) return malformed("move all reply");
    auto& outcome = outcomes.emplace_back();
    if (code != 0) outcome = fail(static_cast<ErrorCode>(code));
  }
  if (!in.finished()) return malformed("move all reply");
  return outcomes;
}

std::string encode_ledger_reply(const OperationLedger& ledger) { return encode_ledger(ledger); }
Result<OperationLedger> decode_ledger_reply(std::string_view bytes) { return decode_ledger(bytes); }

std::string encode_continuation(const std::optional<Continuation>& next) {
  return next ? base64_encode(strings(next->partition_key, next->row_key)) : std::string();
}
Result<std::optional<Continuation>> decode_continuation(std::string_view text) {
  if (text.empty()) return std::optional<Continuation>{};
  const auto bytes = base64_decode(text);
  if (!bytes) return malformed("continuation");
  ByteReader in(*bytes);
  Continuation out;
  out.partition_key = in.string();
  out.row_key = in.string();
  if (!in.finished() || !is_valid_utf8(out.partition_key) || !is_valid_utf8(out.row_key))
    return malformed("continuation");
  return std::optional<Continuation>(std::move(out));
}

}  // namespace tidemark::table_store
