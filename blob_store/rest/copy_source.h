// The source of a copy: a URL in x-ms-copy-source that names a blob of an account of this store. Whoever asks must be
// allowed to read it: by the account key that signed the request if it is the same account, by a signature in the URL
// otherwise. Errors: kInvalidHeaderValue if it is no URL, kCannotVerifyCopySource.
#pragma once
#include "blob_store/rest/blob_operations.h"

namespace tidemark::blob_store {

struct CopySource {
  std::string url;  // as it was given
  BlobRef ref;
  Conditions conditions;  // x-ms-source-if-...
};

Result<CopySource> read_copy_source(const Call& call);
/// The bytes of the source that x-ms-source-range names, all of them without it, as content of their own. Checks the
/// sums that the request declares for them.
Task<Result<ReceivedBody>> receive_from_source(Call& call, const CopySource& source, std::uint64_t limit);

}  // namespace tidemark::blob_store
