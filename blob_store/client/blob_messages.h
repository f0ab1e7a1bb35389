// The bytes of the 'blob.*' calls (common/base/bytes.h). Decoding checks what comes in: kInvalidInput for a message
// that does not have its form. Pure; any thread.
//
//   method                              request                                                   reply
//   blob.ensure                         account, container                                        -
//   blob.put                            ref, content, fence, versions, bytes                         u8 outcome
//   blob.stage                          ref, fence, varint index, bytes                           -
//   blob.publish                        ref, content, fence, versions, varint count                  u8 outcome
//   blob.erase                          ref, fence, versions                                         u8 outcome
//   blob.read                           ref, varint offset, version?                              (blob, bytes)?
//   blob.list                           account, container, prefix, from                          names, next
//   blob.open, blob.close, blob.ledger  account, fence                                            ledger
//   versions: source version i64, version it replaces (i64)?
#pragma once
#include <string>
#include <string_view>

#include "blob_store/client/blob_client.h"

namespace tidemark::blob_store {

/// One shape for all calls; each uses what the table above says.
struct BlobRequest {
  BlobRef ref;
  NewContent content;
  FencedWrite write;
  std::uint64_t number = 0;  // index, count or offset
  std::optional<Version> version;
  std::string bytes;  // content; for blob.list: where to go on
};

std::string encode(const BlobRequest& request);
Result<BlobRequest> decode_request(std::string_view message);

std::string encode_outcome(WriteOutcome outcome);
Result<WriteOutcome> decode_outcome(std::string_view message);
std::string encode_piece(const std::optional<BlobPiece>& piece);
Result<std::optional<BlobPiece>> decode_piece(std::string_view message);
std::string encode_names(const BlobNames& names);
Result<BlobNames> decode_names(std::string_view message);

/// The block that holds a staged piece: base64 of 32 bytes, the same length for every fence and index.
std::string block_id(const Fence& fence, std::uint64_t index);

}  // namespace tidemark::blob_store
