// Rows that nobody erases explicitly, because nobody knows when the last one who may need them is gone. They fade: a
// row is removed once it has not changed for long enough. The time is kept in a mark beside each row, so the rows need
// no timestamp and writing them costs nothing more.
//   mark   key: the mark prefix, then the row's key     value: u64 first seen so (ticks), 16 bytes of its hash
// A round reads all rows in turns, so that requests go on. Only new, changed and faded ones take part in transactions,
// of bounded size.
#pragma once
#include "common/kv/engine.h"

namespace tidemark::kv {

struct FadingRows {
  KeyRange rows;
  std::string marks;  // a key prefix outside of `rows`, for this alone
};

/// Whether a row that would be removed is to stay all the same. Asked before the transaction that removes it.
using StillNeeded = std::function<Result<bool>(const std::string& key, std::string_view value)>;

/// Does one round. Returns how many rows were removed.
Task<Result<std::size_t>> drop_faded(Engine& engine, FadingRows fading, Duration retention, Time now,
                                     StillNeeded still_needed = {});

/// The row is there, and rounds have not seen it unchanged for so long.
Result<bool> changed_lately(const Reader& reader, const FadingRows& fading, const std::string& key, Duration retention,
                            Time now);

}  // namespace tidemark::kv
