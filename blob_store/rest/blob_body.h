// What a request brings: the body, on its way into a payload or as text, with the sums that it declares.
#pragma once
#include "blob_store/rest/blob_call.h"

namespace tidemark::blob_store {

/// What names a source in place of a body (copy_source.h).
inline constexpr std::string_view kSourceHeader = "x-ms-copy-source";
bool names_source(const Call& call);
/// Of a block blob that one request makes, of its body or of a source.
inline constexpr std::uint64_t kMaxPutBlob = 5000ULL << 20;
/// Refuses content before it travels; see BlobService.
Result<void> check_put(const Call& call, const Metadata& metadata = {});
/// What is computed over a body; what the request declares is computed in any case.
enum class Hashes { kBoth, kOfTransfer };
/// Streams the request's body into a payload and checks its length, MD5 and CRC-64 against what was declared. Nothing
/// is left behind after an error.
struct ReceivedBody {
  WrittenPayload payload;
  std::string md5;    // base64, computed; empty if nobody wants it
  std::string crc64;  // likewise
};
Task<Result<ReceivedBody>> receive_body(Call& call, std::uint64_t limit, std::string expected_md5,
                                        Hashes hashes = Hashes::kBoth);
/// The whole of a small body, with its Content-MD5 and CRC-64 checked.
Task<Result<std::string>> receive_text(Call& call, std::size_t limit);
/// The hash that answers a part of a blob: the one that the request declared, else the one of its version.
void add_transfer_hash(http::Response& response, const Call& call, const std::string& md5, const std::string& crc64);

}  // namespace tidemark::blob_store
