#include "jobs/kinds/redrive/redrive.h"

#include "jobs/kinds/reach.h"
#include "jobs/plan/plan.h"
#include "jobs/spec/job_spec.h"
#include "jobs/spec/spec_members.h"

namespace tidemark::jobs {
namespace {
constexpr std::size_t kFingerprintLength = 16;
}

void RedriveSpec::members(SpecMembers& in) {
  if (in.text("poisonKind", which.kind) && !which.kind.empty() && which.kind != "unknown" && !is_kind(which.kind)) {
    in.problem("poisonKind must be a kind of job, or unknown");
  }
  if (in.text("poisonSource", which.source) && !which.source.empty() && !is_table_name(which.source)) {
    in.problem("poisonSource must be the name of a table");
  }
  if (in.text("fingerprint", which.fingerprint) && !which.fingerprint.empty() &&
      which.fingerprint.size() != kFingerprintLength) {
    in.problem("fingerprint must have 16 hex digits");
  }
  in.time("movedAfter", which.moved_after);
  in.time("movedBefore", which.moved_before);
  in.number("perSecond", per_second, 1, 10'000);
  in.number("canary", canary, 0, 100);
  in.number("limit", limit, 1, INT64_MAX);
}

Reach RedriveSpec::reach() const { return {}; }

Task<Result<void>> RedriveSpec::plan(PlanSources& sources, JobPlan& plan) const {
  auto groups = CO_TRY(co_await sources.poison.groups(which));
  for (const auto& group : groups.groups) plan.keys += group.count;
  plan.complete = groups.complete;
  if (limit) plan.keys = std::min(plan.keys, *limit);
  plan.seconds = static_cast<double>(plan.keys) / per_second;
  co_return Result<void>{};
}

}  // namespace tidemark::jobs
