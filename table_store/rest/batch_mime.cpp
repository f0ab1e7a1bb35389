#include "table_store/rest/batch_mime.h"

namespace tidemark::table_store {
namespace {

constexpr std::size_t kMaxOuterParts = 128;

using protocol::malformed_batch;
using protocol::take_headers;

Result<void> read_change_set(std::string_view text, std::string_view boundary, Batch& batch) {
  auto parts = protocol::split_parts(text, boundary, kMaxBatchOperations + 1);
  if (parts.empty()) return malformed_batch("a change set is empty");
  batch.more_than_allowed = parts.size() > kMaxBatchOperations;
  if (batch.more_than_allowed) parts.resize(kMaxBatchOperations);
  for (auto piece : parts) {
    auto part = TRY(protocol::parse_http_part(piece));
    batch.changes.push_back(std::move(part));
  }
  return {};
}

Result<void> read_outer_part(std::string_view text, Batch& batch) {
  protocol::skip_empty_lines(text);
  auto inside = text;
  auto headers = TRY(take_headers(inside));
  auto type = protocol::find_header(headers, "content-type");
  if (auto boundary = type ? multipart_boundary(*type) : std::nullopt) {
    if (batch.changes.empty()) return read_change_set(inside, *boundary, batch);
    ++batch.later_change_sets;
    return {};
  }
  auto part = TRY(protocol::parse_http_part(text));
  if (part.method != "GET") return malformed_batch("a change stands outside of a change set");
  if (batch.query) return malformed_batch("only one query is allowed");
  batch.query = std::move(part);
  return {};
}

}  // namespace

Result<Batch> parse_batch(std::string_view body, std::string_view boundary) {
  auto parts = protocol::split_parts(body, boundary, kMaxOuterParts);
  if (parts.empty()) return malformed_batch("it has no parts");
  Batch batch;
  for (auto part : parts) {
    TRY(read_outer_part(part, batch));
  }
  if (batch.query && !batch.changes.empty()) return malformed_batch("a query cannot stand beside changes");
  const bool alone = batch.changes.size() == 1 && batch.later_change_sets == 0;
  for (const auto& change : batch.changes) {
    if (change.method == "GET" && !alone) return malformed_batch("a query cannot stand beside changes");
  }
  return batch;
}

}  // namespace tidemark::table_store
