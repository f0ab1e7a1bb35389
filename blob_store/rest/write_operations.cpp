// The operations that change blobs.
#include "blob_store/model/tags.h"
#include "blob_store/rest/blob_body.h"
#include "blob_store/rest/blob_operations.h"
#include "blob_store/rest/blob_xml.h"
#include "blob_store/rest/copy_source.h"
#include "blob_store/rest/crc64.h"
#include "blob_store/storage/served_calls.h"
#include "common/base/encoding.h"
#include "common/protocol/protocol_errors.h"

namespace tidemark::blob_store::operations {
namespace {

constexpr std::uint64_t kMaxPutBlock = 4000ULL << 20;
constexpr std::size_t kMaxBlockListBytes = 8UL << 20;  // 50,000 ids take less than 6 MiB

http::Response changed(unsigned status, const Stamp& version) {
  auto response = empty_response(status);
  add_version(response, version);
  response.set("x-ms-request-server-encrypted", "true");
  return response;
}

Result<NewContent> read_new_content(const Call& call, bool plain) {
  NewContent content{TRY(read_content_headers(call, plain)), read_metadata(call.http),
                     TRY(parse_tag_header(call.header("x-ms-tags"))), TRY(read_tier(call))};
  if (!content.tags.empty()) TRY(call.authorize({auth::ResourceType::kObject, "t"}));
  if (content.headers.type.empty()) content.headers.type = "application/octet-stream";
  return content;
}

Result<void> check_tier(const Call& call, BlobType type) {
  const auto tier = TRY(read_tier(call));
  if (tier.empty() || may_have_tier(type, tier)) return {};
  return fail(protocol::invalid_header("x-ms-access-tier", tier, "A blob of this type cannot be in this tier."));
}

/// Blocks need the permission to write or, in signatures of this version and later, the permission to create the blob.
Result<void> admit_blocks(const Call& call) {
  constexpr std::string_view kCreators = "2026-04-06";
  return call.authorize({auth::ResourceType::kObject, call.parameter("sv") < kCreators ? "w" : "wc"});
}

}  // namespace

Answer put_blob(Call& call) {
  auto conditions = write_conditions(call);
  const auto type = call.header("x-ms-blob-type");
  if (names_source(call)) {
    const bool new_blob = type == "BlockBlob";
    co_return new_blob ? co_await put_blob_from_url(call) : co_await copy_blob(call);
  }
  if (type.empty()) co_return fail(ErrorCode::kMissingRequiredHeader);
  if (type == "AppendBlob") {
    CO_TRY(check_tier(call, BlobType::kAppend));
    co_return co_await create_append_blob(call, CO_TRY(read_new_content(call, false)), std::move(conditions));
  }
  if (type == "PageBlob") {
    CO_TRY(check_tier(call, BlobType::kPage));
    co_return co_await create_page_blob(call, CO_TRY(read_new_content(call, false)), std::move(conditions));
  }
  if (type != "BlockBlob") co_return fail(ErrorCode::kInvalidHeaderValue);
  CO_TRY(check_tier(call, BlobType::kBlock));
  auto content = CO_TRY(read_new_content(call, true));
  CO_TRY(check_put(call, content.metadata));
  auto body = CO_TRY(co_await receive_body(call, kMaxPutBlob, content.headers.md5));
  content.headers.md5 = body.md5;
  const auto payload = body.payload.id;
  auto version = co_await call.service.call(
      calls::PutBlob{call.blob_ref(), std::move(content), std::move(body.payload), std::move(conditions)});
  if (!version) call.service.abandon(payload);
  auto response = changed(201, CO_TRY(version));
  response.set("Content-MD5", body.md5);
  if (!speaks_before(call, "2019-02-02")) response.set("x-ms-content-crc64", body.crc64);
  co_return response;
}

Answer put_block(Call& call) {
  CO_TRY(admit_blocks(call));
  const std::string id(call.parameter("blockid"));
  if (id.empty()) co_return fail(ErrorCode::kMissingRequiredQueryParameter);
  const auto raw = base64_decode(id);
  if (!raw || raw->empty() || raw->size() > 64) co_return fail(ErrorCode::kInvalidQueryParameterValue);
  CO_TRY(check_put(call));
  auto body = CO_TRY(co_await receive_block(call, kMaxPutBlock));
  const auto payload = body.payload.id;
  const auto asked = write_conditions(call);
  Conditions conditions;  // the operation knows no other conditions
  conditions.lease_id = asked.lease_id;
  conditions.only_creates = asked.only_creates;
  auto done =
      co_await call.service.call(calls::PutBlock{call.blob_ref(), id, std::move(body.payload), std::move(conditions)});
  if (!done) call.service.abandon(payload);
  CO_TRY(done);
  auto response = empty_response(201);
  add_part_hash(response, call, body);
  response.set("x-ms-request-server-encrypted", "true");
  co_return response;
}

Answer put_block_list(Call& call) {
  CO_TRY(admit_blocks(call));
  auto conditions = write_conditions(call);
  CO_TRY(check_tier(call, BlobType::kBlock));
  auto text = CO_TRY(co_await receive_text(call, kMaxBlockListBytes));
  auto choices = CO_TRY(parse_block_list(text));
  auto content = CO_TRY(read_new_content(call, false));
  auto version = CO_TRY(co_await call.service.call(
      calls::PutBlockList{call.blob_ref(), std::move(choices), std::move(content), std::move(conditions)}));
  auto response = changed(201, version);
  add_transfer_hash(response, call, base64_encode(md5(text)), crc64_text(crc64(text)));
  co_return response;
}

Answer set_blob_headers(Call& call) {
  if (sets_page_properties(call)) co_return co_await set_page_properties(call);
  auto headers = CO_TRY(read_content_headers(call, false));
  const auto blob =
      CO_TRY(co_await call.service.call(calls::SetHeaders{call.blob_ref(), std::move(headers), read_conditions(call)}));
  auto response = changed(200, blob.version);
  if (blob.sequence_number) response.set("x-ms-blob-sequence-number", std::to_string(*blob.sequence_number));
  co_return response;
}

Answer set_blob_metadata(Call& call) {
  const auto blob = CO_TRY(
      co_await call.service.call(calls::SetMetadata{call.blob_ref(), read_metadata(call.http), read_conditions(call)}));
  co_return changed(200, blob.version);
}

Answer delete_blob(Call& call) {
  if (!call.parameter("deletetype").empty()) co_return fail(ErrorCode::kNotImplemented);
  const auto header = to_lower_ascii(call.header("x-ms-delete-snapshots"));
  auto snapshots = DeleteSnapshots::kNone;
  if (header == "include") snapshots = DeleteSnapshots::kInclude;
  if (header == "only") snapshots = DeleteSnapshots::kOnly;
  const bool understood = header.empty() || snapshots != DeleteSnapshots::kNone;
  if (!understood || (call.snapshot && !header.empty())) {
    co_return fail(protocol::invalid_header("x-ms-delete-snapshots", header));
  }
  const bool permanent =
      CO_TRY(co_await call.service.call(calls::DeleteBlob{call.blob_ref(), snapshots, read_conditions(call)}));
  auto response = empty_response(202);
  response.set("x-ms-delete-type-permanent", permanent ? "true" : "false");
  co_return response;
}

Answer undelete_blob(Call& call) {
  CO_TRY(co_await call.service.call(calls::UndeleteBlob{call.blob_ref()}));
  co_return empty_response(200);
}

Answer snapshot_blob(Call& call) {
  auto metadata = read_metadata(call.http);
  const auto outcome = CO_TRY(co_await call.service.call(calls::SnapshotBlob{
      call.blob_ref(), metadata.empty() ? std::nullopt : std::optional(std::move(metadata)), read_conditions(call)}));
  auto response = changed(201, outcome.version);
  response.set("x-ms-snapshot", outcome.snapshot.snapshot());
  co_return response;
}

}  // namespace tidemark::blob_store::operations
