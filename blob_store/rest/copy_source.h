// The source of a copy: a URL in x-ms-copy-source that names a blob of an account of this store. The caller must be
// allowed to read it: by the signature in the URL if there is one; otherwise by the key or the token of the request if
// the account is the same, or because the blob is public. Errors: kInvalidHeaderValue if it is no URL,
// kCannotVerifyCopySource, whose fields say how the source refuses to be read.
#pragma once
#include "blob_store/rest/blob_body.h"

namespace tidemark::blob_store {

struct CopySource {
  std::string url;  // as the client gave it
  BlobRef ref;
  Conditions conditions;  // x-ms-source-if-...
};

/// `with_tags`: the tags are copied as well, so the caller must be allowed to read them, too.
Result<CopySource> read_copy_source(const Call& call, bool with_tags = false);
inline constexpr std::string_view kSourceMd5 = "x-ms-source-content-md5";
/// Checks the MD5 of the source if this header declares it. The source is then copied as it was read here, or not at
/// all. kInvalidMd5, kMd5Mismatch, kSourceConditionNotMet.
Task<Result<void>> check_source_md5(const Call& call, CopySource& source, std::string_view header);
/// Receives the bytes for a write of a part of a blob into a payload: the body, or the bytes of the source that
/// x-ms-source-range names, without that header all of them. Checks the declared sums. kSourceConditionNotMet.
Task<Result<ReceivedBody>> receive_part(Call& call, std::uint64_t limit);
/// Receives a block likewise; it has at least one byte.
Task<Result<ReceivedBody>> receive_block(Call& call, std::uint64_t limit);
/// The whole content of the source, with holes as zeros, and the source as it was when it was read.
struct ReceivedSource {
  Blob blob;
  ReceivedBody body;
};
Task<Result<ReceivedSource>> receive_source(Call& call, const CopySource& source, std::uint64_t limit);
/// Adds the hash to the response of such a write.
void add_part_hash(http::Response& response, const Call& call, const ReceivedBody& part);

}  // namespace tidemark::blob_store
