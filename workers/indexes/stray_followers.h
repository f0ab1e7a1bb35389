// Followers that outlived their indexes. In earlier versions, an owner that had been away could follow its table once
// more after its index was dropped, and the table's log waited for it for ever.
#pragma once
#include "workers/runtime/job_context.h"

namespace tidemark::workers {

/// Removes followers that are named like an index, but no index is declared with that id.
Task<Result<void>> remove_stray_followers(JobServices services);

}  // namespace tidemark::workers
