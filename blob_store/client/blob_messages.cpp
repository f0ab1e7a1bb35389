#include "blob_store/client/blob_messages.h"

#include "blob_store/model/digest.h"
#include "blob_store/storage/blob_records.h"
#include "common/base/bytes.h"
#include "common/base/encoding.h"

namespace tidemark::blob_store {
namespace {

std::unexpected<Error> malformed(std::string_view what) {
  auto error = make_error(ErrorCode::kInvalidInput);
  error.detail = "malformed internal message: " + std::string(what);
  return fail(std::move(error));
}

}  // namespace

// Headers and metadata travel as the record of a blob that does not exist yet.
std::string encode(const BlobRequest& request) {
  std::string message;
  ByteWriter out(message);
  for (const auto* text : {&request.ref.account, &request.ref.container, &request.ref.name}) out.string(*text);
  Blob blob;
  blob.headers = request.content.headers;
  blob.metadata = request.content.metadata;
  out.string(records::encode(blob));
  out.string(request.write.fence.operation_id);
  out.varint(request.write.fence.epoch);
  out.string(request.write.fence.count_applied_as);
  out.i64(request.write.source_version);
  out.boolean(request.write.replaces.has_value());
  if (request.write.replaces) out.i64(*request.write.replaces);
  out.varint(request.number);
  out.boolean(request.version.has_value());
  if (request.version) out.u64(request.version->ticks);
  out.string(request.bytes);
  return message;
}

Result<BlobRequest> decode_request(std::string_view message) {
  ByteReader in(message);
  BlobRequest request;
  for (auto* text : {&request.ref.account, &request.ref.container, &request.ref.name}) *text = in.string();
  auto blob = records::decode_blob(in.string());
  if (!blob) return malformed("content headers");
  request.content = {std::move(blob->headers), std::move(blob->metadata)};
  request.write.fence.operation_id = in.string();
  request.write.fence.epoch = in.varint();
  request.write.fence.count_applied_as = in.string();
  request.write.source_version = in.i64();
  if (in.boolean()) request.write.replaces = in.i64();
  request.number = in.varint();
  if (in.boolean()) request.version = Version{in.u64()};
  request.bytes = in.string();
  if (!in.finished() || request.bytes.size() > kMaxPieceBytes) return malformed("blob request");
  return request;
}

std::string encode_outcome(WriteOutcome outcome) { return std::string(1, static_cast<char>(outcome)); }

Result<WriteOutcome> decode_outcome(std::string_view message) {
  if (message.size() != 1 || message[0] < 1 || message[0] > 4) return malformed("outcome");
  return static_cast<WriteOutcome>(message[0]);
}

std::string encode_piece(const std::optional<BlobPiece>& piece) {
  std::string message;
  if (!piece) return message;
  ByteWriter out(message);
  out.string(records::encode(piece->blob));
  out.string(piece->bytes);
  return message;
}

Result<std::optional<BlobPiece>> decode_piece(std::string_view message) {
  if (message.empty()) return std::optional<BlobPiece>();
  ByteReader in(message);
  auto blob = records::decode_blob(in.string());
  if (!blob) return malformed("blob");
  BlobPiece piece{std::move(*blob), std::string(in.string())};
  if (!in.finished()) return malformed("piece of a blob");
  return std::optional<BlobPiece>(std::move(piece));
}

std::string encode_names(const BlobNames& names) {
  std::string message;
  ByteWriter out(message);
  out.string(names.next);
  for (const auto& name : names.names) out.string(name);
  return message;
}

Result<BlobNames> decode_names(std::string_view message) {
  ByteReader in(message);
  BlobNames names;
  names.next = in.string();
  while (in.ok() && !in.at_end()) names.names.emplace_back(in.string());
  if (!in.finished()) return malformed("names");
  return names;
}

std::string block_id(const Fence& fence, std::uint64_t index) {
  std::string identity;
  ByteWriter out(identity);
  out.raw(md5_of(fence.operation_id));
  out.u64(fence.epoch);
  out.u64(index);
  return base64_encode(identity);
}

}  // namespace tidemark::blob_store
