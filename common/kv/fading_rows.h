// Rows that are never erased explicitly, because it is unknown when the last one that needs them is gone. They fade: a
// row is removed once it has not changed for long enough. The time is kept in a mark beside each row, so the rows need
// no timestamp, and writing them costs nothing more.
//   mark   key: the mark prefix, then the row's key     value: u64 first seen so (ticks), 16 bytes of the row's hash
// A round reads all rows in turns, so that requests go on. Only new, changed and faded rows take part in transactions,
// which are of bounded size.
#pragma once
#include "common/kv/engine.h"

namespace tidemark::kv {

struct FadingRows {
  KeyRange rows;
  std::string marks;  // a key prefix outside `rows`, used for marks alone
};

/// Tells whether a row that would be removed must stay. Asked before the transaction that removes it.
using StillNeeded = std::function<Result<bool>(const std::string& key, std::string_view value)>;

/// Does one round. Returns how many rows were removed.
Task<Result<std::size_t>> drop_faded(Engine& engine, FadingRows fading, Duration retention, Time now,
                                     StillNeeded still_needed = {});

/// Tells whether the row exists and rounds have not seen it unchanged for `retention`.
Result<bool> changed_lately(const Reader& reader, const FadingRows& fading, const std::string& key, Duration retention,
                            Time now);

}  // namespace tidemark::kv
