// The body of a request, received into a payload or as text, and checked against the sums that the request declares.
#pragma once
#include "blob_store/rest/blob_call.h"

namespace tidemark::blob_store {

/// The header that names a source in place of a body (copy_source.h).
inline constexpr std::string_view kSourceHeader = "x-ms-copy-source";
bool names_source(const Call& call);
/// The limit for a block blob that a single request makes, from its body or from a source.
inline constexpr std::uint64_t kMaxPutBlob = 5000ULL << 20;
/// Refuses content before it is sent; see BlobService.
Result<void> check_put(const Call& call, const Metadata& metadata = {});
/// The hashes that are computed over a body in addition to those that the request declares.
enum class Hashes { kBoth, kOfTransfer };
/// Streams the request's body into a payload and checks its length, MD5 and CRC-64 against the declared ones. An error
/// leaves nothing behind.
struct ReceivedBody {
  WrittenPayload payload;
  std::string md5;    // base64, computed; empty if it is not wanted
  std::string crc64;  // likewise
};
Task<Result<ReceivedBody>> receive_body(Call& call, std::uint64_t limit, std::string expected_md5,
                                        Hashes hashes = Hashes::kBoth);
/// Reads the whole of a small body, and checks its Content-MD5 and CRC-64.
Task<Result<std::string>> receive_text(Call& call, std::size_t limit);
/// Adds the hash of a part of a blob to the response: the one that the request declared, else the one of its version.
void add_transfer_hash(http::Response& response, const Call& call, const std::string& md5, const std::string& crc64);

}  // namespace tidemark::blob_store
