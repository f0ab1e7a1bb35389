// Purge: removes the poison messages that match and existed when the job was submitted, at most perSecond. It cannot be
// undone. The records of jobs stay poisoned. A purge that fails is cancelled, as a redrive is.
#pragma once
#include "jobs/poison/poison_selection.h"

namespace tidemark::jobs {

struct PurgeSpec {
  PoisonSelection which{.per_second = 1000};
  bool operator==(const PurgeSpec&) const = default;

  static constexpr std::string_view kName = "purge";
  static constexpr bool kSelectsEntities = false;
  static constexpr bool kNeverPoison = true;
  void members(SpecMembers& in) { which.members(in); }
  [[nodiscard]] Reach reach() const;
  Task<Result<void>> plan(PlanSources& sources, JobPlan& plan) const { return which.plan(sources, plan); }
  [[nodiscard]] static bool writes_blobs() { return false; }
};

}  // namespace tidemark::jobs

namespace tidemark::workers {
Task<Result<JobOutcome>> run(JobContext& context, jobs::PurgeSpec spec);
}  // namespace tidemark::workers
