// Append blobs.
#include "blob_store/rest/blob_body.h"
#include "blob_store/rest/blob_operations.h"
#include "blob_store/rest/copy_source.h"
#include "blob_store/rest/typed_blobs.h"
#include "blob_store/storage/served_calls.h"

namespace tidemark::blob_store::operations {
namespace {

constexpr std::uint64_t kMaxAppendBlock = 100ULL << 20;

Result<AppendConditions> read_append_conditions(const Call& call) {
  return AppendConditions{TRY(number_header(call, "x-ms-blob-condition-appendpos")),
                          TRY(number_header(call, "x-ms-blob-condition-maxsize"))};
}

}  // namespace

Answer create_append_blob(Call& call, NewContent content, Conditions conditions) {
  CO_TRY(require_no_body(call));
  co_return written(201, CO_TRY(co_await call.service.call(
                             calls::CreateAppendBlob{call.blob_ref(), std::move(content), std::move(conditions)})));
}

Answer append_block(Call& call) {
  auto wanted = CO_TRY(read_append_conditions(call));
  CO_TRY(check_put(call));
  auto body = CO_TRY(co_await receive_block(call, kMaxAppendBlock));
  const auto payload = body.payload.id;
  auto outcome = co_await call.service.call(
      calls::AppendBlock{call.blob_ref(), std::move(body.payload), wanted, read_conditions(call)});
  if (!outcome) call.service.abandon(payload);
  const auto& appended = CO_TRY(outcome);
  auto response = written(201, appended.version);
  response.set("x-ms-blob-append-offset", std::to_string(appended.offset));
  response.set("x-ms-blob-committed-block-count", std::to_string(appended.blocks));
  add_part_hash(response, call, body);
  co_return response;
}

Answer seal_blob(Call& call) {
  auto wanted = CO_TRY(read_append_conditions(call));
  auto response =
      written(200, CO_TRY(co_await call.service.call(calls::SealBlob{call.blob_ref(), wanted, read_conditions(call)})));
  response.set("x-ms-blob-sealed", "true");
  co_return response;
}

}  // namespace tidemark::blob_store::operations
