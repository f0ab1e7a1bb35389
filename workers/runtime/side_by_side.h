// Runs the steps of a page side by side: each waits for the store, which folds what arrives together into one write.
// All on the caller's executor, which must be one strand or thread, so that steps share their job's state freely.
#pragma once
#include <functional>

#include "common/base/async.h"
#include "common/base/error.h"

namespace tidemark::workers {

inline constexpr std::size_t kStepsAtOnce = 8;

/// Called with 0, 1, ... in order.
using Step = std::function<Task<Result<void>>(std::size_t number)>;

/// Until all `count` steps are done, or one has failed and those under way have ended: then its error.
Task<Result<void>> side_by_side(Clock& clock, std::size_t count, Step step, std::size_t at_once = kStepsAtOnce);

}  // namespace tidemark::workers
