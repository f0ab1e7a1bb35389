#include "jobs/kinds/purge/purge.h"

#include "workers/runtime/poison_sweep.h"

namespace tidemark::workers {

Task<Result<JobOutcome>> run(JobContext& context, jobs::PurgeSpec spec) {
  PoisonWork work{spec.which, 0, "deleting", "deleted", {}};
  work.deal = [queue = spec.which.queue](jobs::PoisonStore& poison, jobs::PoisonRecord seen) {
    return queue.empty() ? poison.remove(std::move(seen.message_id), seen.epoch)
                         : poison.remove_from(queue, std::move(seen.message_id), seen.epoch);
  };
  co_return co_await sweep_poison(context, std::move(work));
}

}  // namespace tidemark::workers
