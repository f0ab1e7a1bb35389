// Runs steps side by side, because a store combines requests that arrive together into one write to the disk. All run
// on the caller's executor, which must be a strand or a single thread, so that steps can share their job's state.
#pragma once
#include <functional>

#include "common/base/async.h"

namespace tidemark {

inline constexpr std::size_t kStepsAtOnce = 8;

/// Called with 0, 1, ... in order.
using Step = std::function<Task<Result<void>>(std::size_t number)>;

/// Returns when all `count` steps are done, or with the error of a step that failed, once the others have ended.
Task<Result<void>> side_by_side(Clock& clock, std::size_t count, Step step, std::size_t at_once = kStepsAtOnce);

}  // namespace tidemark
