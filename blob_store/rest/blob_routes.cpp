// The operations that change blobs, and the choice among all blob operations.
#include "blob_store/rest/blob_routes.h"

#include "blob_store/model/names.h"
#include "common/base/encoding.h"

namespace tidemark::blob_store {
namespace {

constexpr std::uint64_t kMaxPutBlob = 5000ULL << 20;
constexpr std::uint64_t kMaxPutBlock = 4000ULL << 20;
constexpr std::size_t kMaxBlockListBytes = 16UL << 20;
using auth::ResourceType;

// "w" allows every write. "c" alone allows only what creates a blob: then the write is made conditional on there
// being none.
Result<void> may_write(const Call& call, Conditions* creating) {
  auto allowed = call.authorize({ResourceType::kObject, "w"});
  if (allowed || creating == nullptr) return allowed;
  if (!allowed.failed_with(ErrorCode::kAuthorizationPermissionMismatch)) return allowed;
  allowed = call.authorize({ResourceType::kObject, "c"});
  if (allowed) creating->if_none_match = {"*"};
  return allowed;
}

http::Response changed(unsigned status, const Version& version) {
  auto response = empty_response(status);
  add_version(response, version);
  response.set("x-ms-request-server-encrypted", "true");
  return response;
}

Result<NewContent> read_new_content(const Call& call, bool plain) {
  auto metadata = TRY(read_metadata(call));
  NewContent content{read_content_headers(call, plain), std::move(metadata)};
  if (content.headers.type.empty()) content.headers.type = "application/octet-stream";
  return content;
}

Task<void> discard(Call& call, std::uint64_t payload) {
  auto abandoning = call.service.abandon(payload);
  // If this fails, the next start of the store collects it.
  (void)co_await std::move(abandoning);
}

Answer put_blob(Call& call) {
  auto conditions = read_conditions(call);
  CO_TRY(may_write(call, &conditions));
  const auto type = call.header("x-ms-blob-type");
  if (!call.header("x-ms-copy-source").empty()) co_return fail(ErrorCode::kNotImplemented);
  if (type.empty()) co_return fail(ErrorCode::kMissingRequiredHeader);
  if (type == "AppendBlob" || type == "PageBlob") co_return fail(ErrorCode::kNotImplemented);
  if (type != "BlockBlob") co_return fail(ErrorCode::kInvalidHeaderValue);
  auto content = CO_TRY(read_new_content(call, true));
  // Refused before the content travels; the transaction looks again.
  CO_TRY(call.service.get_container(call.container_ref()));
  auto body = CO_TRY(co_await receive_body(call, kMaxPutBlob, content.headers.md5));
  content.headers.md5 = body.md5;
  const auto payload = body.payload.id;
  auto putting =
      call.service.put_blob(call.blob_ref(), std::move(content), std::move(body.payload), std::move(conditions));
  auto version = co_await std::move(putting);
  if (!version && payload != 0) {
    co_await discard(call, payload);
  }
  if (!version) co_return fail(std::move(version.error()));
  auto response = changed(201, *version);
  response.set("Content-MD5", body.md5);
  co_return response;
}

Answer put_block(Call& call) {
  Conditions ignored;  // blocks have no conditions
  CO_TRY(may_write(call, &ignored));
  if (!call.header("x-ms-copy-source").empty()) co_return fail(ErrorCode::kNotImplemented);
  const auto id = call.parameter("blockid");
  if (id.empty()) co_return fail(ErrorCode::kMissingRequiredQueryParameter);
  const auto raw = base64_decode(id);
  if (!raw || raw->empty() || raw->size() > 64) co_return fail(ErrorCode::kInvalidQueryParameterValue);
  CO_TRY(call.service.get_container(call.container_ref()));
  const auto expected = call.header("Content-MD5");
  auto body = CO_TRY(co_await receive_body(call, kMaxPutBlock, expected));
  const auto payload = body.payload.id;
  auto done = co_await call.service.put_block(call.blob_ref(), id, std::move(body.payload));
  if (!done && payload != 0) {
    co_await discard(call, payload);
  }
  if (!done) co_return fail(std::move(done.error()));
  auto response = empty_response(201);
  response.set("Content-MD5", body.md5);
  response.set("x-ms-request-server-encrypted", "true");
  co_return response;
}

Answer put_block_list(Call& call) {
  auto conditions = read_conditions(call);
  CO_TRY(may_write(call, &conditions));
  auto content = CO_TRY(read_new_content(call, false));
  auto text = CO_TRY(co_await receive_text(call, kMaxBlockListBytes));
  auto choices = CO_TRY(parse_block_list(text));
  auto putting =
      call.service.put_block_list(call.blob_ref(), std::move(choices), std::move(content), std::move(conditions));
  auto version = CO_TRY(co_await std::move(putting));
  auto response = changed(201, version);
  response.set("Content-MD5", base64_encode(md5(text)));
  co_return response;
}

Answer set_headers(Call& call) {
  CO_TRY(may_write(call, nullptr));
  auto version = CO_TRY(
      co_await call.service.set_headers(call.blob_ref(), read_content_headers(call, false), read_conditions(call)));
  co_return changed(200, version);
}

Answer set_metadata(Call& call) {
  CO_TRY(may_write(call, nullptr));
  auto metadata = CO_TRY(read_metadata(call));
  auto version =
      CO_TRY(co_await call.service.set_metadata(call.blob_ref(), std::move(metadata), read_conditions(call)));
  co_return changed(200, version);
}

Answer remove(Call& call) {
  CO_TRY(call.authorize({ResourceType::kObject, "d"}));
  // There are no snapshots: deleting only those is not an operation here.
  if (call.header("x-ms-delete-snapshots") == "only") co_return fail(ErrorCode::kNotImplemented);
  CO_TRY(co_await call.service.delete_blob(call.blob_ref(), read_conditions(call)));
  auto response = empty_response(202);
  response.set("x-ms-delete-type-permanent", "true");
  co_return response;
}

}  // namespace

Answer serve_blob(Call& call) {
  CO_TRY(check_container_name(call.container));
  CO_TRY(check_blob_name(call.blob));
  const auto comp = call.parameter("comp");
  const auto method = call.request.method;
  if (call.is_read() && comp == "properties" && call.parameter("restype") == "account") co_return account_info(call);
  if (!call.parameter("snapshot").empty() || !call.parameter("versionid").empty() ||
      !call.header("x-ms-lease-id").empty() || !call.header("x-ms-if-tags").empty()) {
    co_return fail(ErrorCode::kNotImplemented);
  }
  if (call.is_read()) {
    if (comp.empty()) co_return read_blob(call);
    if (comp == "metadata") co_return read_blob_metadata(call);
    if (comp == "blocklist") co_return read_block_list(call);
  }
  Answer (*change)(Call&) = nullptr;
  if (method == "DELETE" && comp.empty()) change = remove;
  if (method == "PUT") {
    if (comp.empty()) change = put_blob;
    if (comp == "block") change = put_block;
    if (comp == "blocklist") change = put_block_list;
    if (comp == "properties") change = set_headers;
    if (comp == "metadata") change = set_metadata;
  }
  if (change == nullptr) co_return fail(unknown_operation(call));
  co_return co_await change(call);
}

}  // namespace tidemark::blob_store
