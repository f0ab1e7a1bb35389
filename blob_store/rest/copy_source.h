// The source of a copy: a URL in x-ms-copy-source that names a blob of an account of this store. Whoever asks must be
// allowed to read it: by the account key that signed the request if it is the same account, by a signature in the URL
// otherwise. Errors: kInvalidHeaderValue if it is no URL, kCannotVerifyCopySource.
#pragma once
#include "blob_store/rest/blob_body.h"

namespace tidemark::blob_store {

struct CopySource {
  std::string url;  // as it was given
  BlobRef ref;
  Conditions conditions;  // x-ms-source-if-...
};

Result<CopySource> read_copy_source(const Call& call);
/// What a write of a part of a blob brings, as content of its own: the body, or of the source the bytes that
/// x-ms-source-range names, all of them without it. Checks the sums that the request declares. kSourceConditionNotMet.
Task<Result<ReceivedBody>> receive_part(Call& call, std::uint64_t limit);
/// The hash that answers such a write.
void add_part_hash(http::Response& response, const Call& call, const ReceivedBody& part);

}  // namespace tidemark::blob_store
