// Turns an object with run(), which does the work of a kind, into a coroutine that owns it.
#pragma once
#include "workers/runtime/job_context.h"

namespace tidemark::workers {

template <class Work, class... Arguments>
Task<Result<JobOutcome>> run_as(JobContext& context, Arguments... arguments) {
  Work work(context, std::move(arguments)...);
  co_return co_await work.run();
}

}  // namespace tidemark::workers
