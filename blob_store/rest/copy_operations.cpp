// Copies of whole blobs: Copy Blob, which ends at once here, Copy Blob From URL and Put Blob From URL.
#include "blob_store/model/tags.h"
#include "blob_store/rest/blob_operations.h"
#include "blob_store/rest/copy_source.h"
#include "blob_store/storage/served_calls.h"
#include "common/base/encoding.h"

namespace tidemark::blob_store::operations {
namespace {

using HeaderNames = std::vector<std::string_view>;

/// `md5_headers`: the headers that the operation compares with the source.
Task<Result<CopyRequest>> copy_request(const Call& call, HeaderNames md5_headers) {
  CopyRequest request;
  request.copy_tags = iequals_ascii(call.header("x-ms-copy-source-tag-option"), "COPY");
  if (request.copy_tags) CO_TRY(call.authorize({auth::ResourceType::kObject, "t"}));
  auto source = CO_TRY(read_copy_source(call, request.copy_tags));
  for (const auto header : md5_headers) CO_TRY(co_await check_source_md5(call, source, header));
  request.source = std::move(source.ref);
  request.source_url = std::move(source.url);
  request.source_conditions = std::move(source.conditions);
  if (auto metadata = read_metadata(call.http); !metadata.empty()) request.metadata = std::move(metadata);
  request.tier = CO_TRY(read_tier(call));
  if (auto tags = CO_TRY(parse_tag_header(call.header("x-ms-tags"))); !tags.empty()) {
    if (request.copy_tags) {
      co_return fail(ErrorCode::kBlobOperationNotSupported,
                     "A copy has the tags of its source or those of x-ms-tags: leave out x-ms-tags, or "
                     "x-ms-copy-source-tag-option.");
    }
    CO_TRY(call.authorize({auth::ResourceType::kObject, "t"}));
    request.tags = std::move(tags);
  }
  if (const auto seal = call.header("x-ms-seal-blob"); !seal.empty()) request.sealed = iequals_ascii(seal, "true");
  co_return request;
}

/// The content headers of the request override those of the source, or replace all of them.
Result<void> read_own_headers(const Call& call, CopyRequest& request) {
  request.headers = TRY(read_content_headers(call, false));
  request.own_headers = iequals_ascii(call.header("x-ms-copy-source-blob-properties"), "false");
  if (request.own_headers && request.headers.type.empty()) request.headers.type = "application/octet-stream";
  return {};
}

/// The conditions of the request apply to the destination.
Result<CopyOutcome> about_target(Result<CopyOutcome> outcome) {
  return outcome.failed_with(ErrorCode::kConditionNotMet) ? fail(ErrorCode::kTargetConditionNotMet)
                                                          : std::move(outcome);
}

/// A block blob has no holes, so it gets the bytes of a page blob instead of sharing its content.
Task<Result<CopyOutcome>> put_pages(Call& call, CopyRequest request) {
  const CopySource source{std::move(request.source_url), std::move(request.source),
                          std::move(request.source_conditions)};
  auto received = CO_TRY(co_await receive_source(call, source, kMaxPutBlob));
  auto& from = received.blob;
  NewContent content{headers_of_copy(request, from.headers), std::move(request.metadata).value_or(from.metadata),
                     request.copy_tags ? from.tags : std::move(request.tags).value_or(Tags()), request.tier};
  if (!received.body.md5.empty()) content.headers.md5 = received.body.md5;
  const auto md5 = content.headers.md5;
  const auto payload = received.body.payload.id;
  const auto version = co_await call.service.call(
      calls::PutBlob{call.blob_ref(), std::move(content), std::move(received.body.payload), write_conditions(call)});
  if (!version) call.service.abandon(payload);
  co_return CopyOutcome{CO_TRY(version), {}, md5};
}

}  // namespace

Answer copy_blob(Call& call) {
  const bool from_url = iequals_ascii(call.header("x-ms-requires-sync"), "true");
  auto request = CO_TRY(co_await copy_request(call, from_url ? HeaderNames{kSourceMd5} : HeaderNames{}));
  request.rehydrates = !from_url && !request.tier.empty() && request.tier != kArchive;
  request.needs_endless_lease = !from_url;
  const auto outcome = CO_TRY(about_target(
      co_await call.service.call(calls::CopyBlob{std::move(request), call.blob_ref(), write_conditions(call)})));
  auto response = empty_response(202);
  add_version(response, outcome.version);
  response.set("x-ms-copy-id", outcome.id);
  response.set("x-ms-copy-status", "success");
  if (const auto md5 = call.header(kSourceMd5); from_url && !md5.empty()) {
    response.set("Content-MD5", md5);
  }
  co_return response;
}

Answer put_blob_from_url(Call& call) {
  auto request = CO_TRY(co_await copy_request(call, {kSourceMd5, "x-ms-blob-content-md5"}));
  request.as_new_block_blob = true;
  CO_TRY(read_own_headers(call, request));
  const auto source = call.service.get_blob(request.source, {});
  const bool has_holes = source && source->type == BlobType::kPage;
  const auto outcome =
      CO_TRY(about_target(has_holes ? co_await put_pages(call, std::move(request))
                                    : co_await call.service.call(calls::CopyBlob{std::move(request), call.blob_ref(),
                                                                                 write_conditions(call)})));
  auto response = empty_response(201);
  add_version(response, outcome.version);
  if (!outcome.md5.empty()) response.set("Content-MD5", outcome.md5);
  response.set("x-ms-request-server-encrypted", "true");
  co_return response;
}

/// A copy has always ended when its request is answered.
Answer abort_copy(Call& call) {
  CO_TRY(call.service.get_blob(call.blob_ref(), read_conditions(call)));
  co_return fail(ErrorCode::kNoPendingCopyOperation);
}

}  // namespace tidemark::blob_store::operations
