#include "workers/runtime/registry.h"

#include "jobs/kinds/archive/run/archive.h"
#include "jobs/kinds/callback/run/callback.h"
#include "jobs/kinds/copy/run/copy.h"
#include "jobs/kinds/delete/run/delete.h"
#include "jobs/kinds/index/run/index_rebuild.h"
#include "jobs/kinds/offload/run/offload.h"
#include "jobs/kinds/redrive/run/redrive.h"
#include "jobs/kinds/undo/run/undo.h"

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
