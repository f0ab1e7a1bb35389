// Removes the remains of dropped indexes. In earlier versions, an owner that had been away could follow its table once
// more after its index was dropped, and the table's log waited for it for ever. And an owner may die when its index is
// not declared any more but not yet removed completely.
#pragma once
#include "workers/runtime/job_context.h"

namespace tidemark::workers {

/// Removes followers that are named like an index, but no index is declared with that id.
Task<Result<void>> remove_stray_followers(JobServices services);
/// Closes the operations of indexes that are not declared any more, and removes their owners' rows.
Task<Result<void>> finish_drops(JobServices services);

}  // namespace tidemark::workers
