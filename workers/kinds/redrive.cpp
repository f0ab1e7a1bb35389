#include "jobs/kinds/redrive/redrive.h"

#include "workers/runtime/poison_sweep.h"

namespace tidemark::workers {

Task<Result<JobOutcome>> run(JobContext& context, jobs::RedriveSpec spec) {
  PoisonWork work{spec.which, spec.canary, "sending", "sent", {}};
  work.deal = [&context, queue = spec.which.queue](jobs::PoisonStore& poison,
                                                   jobs::PoisonRecord seen) -> Task<Result<void>> {
    if (!queue.empty()) co_return co_await poison.send_back(queue, seen.message_id, std::nullopt, seen.epoch);
    CO_TRY(co_await poison.redrive(seen.message_id, std::nullopt, context.job_id(), seen.epoch));
    co_return Result<void>{};
  };
  co_return co_await sweep_poison(context, std::move(work));
}

}  // namespace tidemark::workers
