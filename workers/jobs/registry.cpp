#include "workers/jobs/registry.h"

#include "workers/jobs/archive.h"
#include "workers/jobs/callback.h"
#include "workers/jobs/copy.h"
#include "workers/jobs/delete.h"
#include "workers/jobs/index_rebuild.h"
#include "workers/jobs/offload.h"
#include "workers/jobs/redrive.h"
#include "workers/jobs/undo.h"

namespace tidemark::workers {
namespace {

struct Start {
  JobContext& context;
  using Running = Task<Result<JobOutcome>>;
  Running operator()(jobs::ArchiveSpec spec) const { return run_archive(context, std::move(spec)); }
  Running operator()(jobs::IndexSpec spec) const { return run_index_rebuild(context, std::move(spec)); }
  Running operator()(jobs::UnarchiveSpec spec) const { return run_unarchive(context, std::move(spec)); }
  Running operator()(jobs::CopySpec spec) const { return run_copy(context, std::move(spec)); }
  Running operator()(jobs::DeleteSpec spec) const { return run_delete(context, std::move(spec)); }
  Running operator()(jobs::UndoSpec spec) const { return run_undo(context, std::move(spec)); }
  Running operator()(jobs::OffloadSpec spec) const { return run_offload(context, std::move(spec)); }
  Running operator()(jobs::InlineSpec spec) const { return run_inline(context, std::move(spec)); }
  Running operator()(jobs::CallbackSpec spec) const { return run_callback(context, std::move(spec)); }
  Running operator()(jobs::RedriveSpec spec) const { return run_redrive(context, std::move(spec)); }
};

}  // namespace

Task<Result<JobOutcome>> run_work(JobContext& context, jobs::JobWork work) {
  return std::visit(Start{context}, std::move(work));
}

}  // namespace tidemark::workers
