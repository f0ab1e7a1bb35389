// Computes the MD5 of a body in memory together with those of other requests.
#pragma once
#include <string>
#include <string_view>

#include "common/base/async.h"

namespace tidemark::blob_store {

/// Returns the 16 bytes. Bodies that came in the same turn of the calling thread's executor share one computation
/// (rest/md5_lanes.h), which is the next turn. Resumes on the caller's executor; the body must stay until then.
Task<std::string> md5_with_others(std::string_view body);

}  // namespace tidemark::blob_store
