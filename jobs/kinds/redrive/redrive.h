// Redrive: sends back the poison messages that match and existed when the job was submitted, at most perSecond. With a
// canary, that many go first; then the job waits until all of their jobs have ended, without holding a worker, and goes
// on only if every one succeeded. A redrive that fails is cancelled: as poison, it would be one more message among
// those that it was to send back. Each message moves in one transaction with its id, so a repetition finds it gone.
// Fails with kCanaryFailed and the errors of the stores.
#pragma once
#include "jobs/poison/poison_selection.h"

namespace tidemark::jobs {

struct RedriveSpec {
  PoisonSelection which;
  std::uint32_t canary = 0;  // this many are sent first; the rest only if all of them succeed
  bool operator==(const RedriveSpec&) const = default;

  static constexpr std::string_view kName = "redrive";
  static constexpr bool kSelectsEntities = false;
  static constexpr bool kNeverPoison = true;
  void members(SpecMembers& in);
  [[nodiscard]] Reach reach() const;
  Task<Result<void>> plan(PlanSources& sources, JobPlan& plan) const { return which.plan(sources, plan); }
  [[nodiscard]] static bool writes_blobs() { return false; }
};

}  // namespace tidemark::jobs

namespace tidemark::workers {
Task<Result<JobOutcome>> run(JobContext& context, jobs::RedriveSpec spec);
}  // namespace tidemark::workers
