// Rows that nobody erases, because nobody can know when the last one who may need them is gone: they fade, that is,
// they go once they have not changed for a time that is long enough. How long that is already is kept beside them, a
// mark for each, so the rows themselves need no stamp and writing them costs nothing more.
//   mark   key: the mark prefix, then the row's key     value: u64 first seen so (ticks), 16 bytes of its hash
// One round reads all rows in snapshots; only new, changed and faded ones cost a transaction, of bounded size.
#pragma once
#include "common/kv/engine.h"

namespace tidemark::kv {

struct FadingRows {
  KeyRange rows;
  std::string marks;  // a key prefix outside of `rows`, for this alone
};

/// One round. Returns how many rows went.
Task<Result<std::size_t>> drop_faded(Engine& engine, FadingRows fading, Duration retention, Time now);

}  // namespace tidemark::kv
