// The source of a copy: a URL in x-ms-copy-source that names a blob of an account of this store. Whoever asks must be
// allowed to read it: by the signature in the URL if there is one; otherwise by the key or the token of the request if
// it is the same account, or because anybody may. Errors: kInvalidHeaderValue if it is no URL, kCannotVerifyCopySource,
// which says in its fields how the source refuses to be read.
#pragma once
#include "blob_store/rest/blob_body.h"

namespace tidemark::blob_store {

struct CopySource {
  std::string url;  // as it was given
  BlobRef ref;
  Conditions conditions;  // x-ms-source-if-...
};

/// `with_tags`: they are copied as well, so the caller must be allowed to read those, too.
Result<CopySource> read_copy_source(const Call& call, bool with_tags = false);
inline constexpr std::string_view kSourceMd5 = "x-ms-source-content-md5";
/// Checks the MD5 of the source that this header declares, if it does. The source is then copied as it was read here,
/// or not at all. kInvalidMd5, kMd5Mismatch, kSourceConditionNotMet.
Task<Result<void>> check_source_md5(const Call& call, CopySource& source, std::string_view header);
/// What a write of a part of a blob brings, as content of its own: the body, or of the source the bytes that
/// x-ms-source-range names, all of them without it. Checks the sums that the request declares. kSourceConditionNotMet.
Task<Result<ReceivedBody>> receive_part(Call& call, std::uint64_t limit);
/// Likewise a block, which has at least one byte.
Task<Result<ReceivedBody>> receive_block(Call& call, std::uint64_t limit);
/// All that the source has, holes as zeros, and the source as it was then.
struct ReceivedSource {
  Blob blob;
  ReceivedBody body;
};
Task<Result<ReceivedSource>> receive_source(Call& call, const CopySource& source, std::uint64_t limit);
/// The hash that answers such a write.
void add_part_hash(http::Response& response, const Call& call, const ReceivedBody& part);

}  // namespace tidemark::blob_store
