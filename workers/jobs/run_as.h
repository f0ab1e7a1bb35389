// How a kind whose work is an object with run() becomes a coroutine that owns it.
#pragma once
#include "workers/runtime/job_context.h"

namespace tidemark::workers {

template <class Work, class... Arguments>
Task<Result<JobOutcome>> run_as(JobContext& context, Arguments... arguments) {
  Work work(context, std::move(arguments)...);
  auto task = work.run();
  auto outcome = co_await std::move(task);
  co_return outcome;
}

}  // namespace tidemark::workers
