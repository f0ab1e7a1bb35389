// A job of a kind that users have declared (jobs/spec/own_kinds.h). Tidemark's workers never do it: its message waits
// in the queue of its kind and version, from which users' processes claim it (jobs/work).
#pragma once
#include "jobs/kinds/kind.h"

namespace tidemark::jobs {

struct OwnSpec {
  std::string kind;
  std::uint32_t version = 1;
  std::string input;  // JSON; empty: none
  bool operator==(const OwnSpec&) const = default;

  static constexpr std::string_view kName;  // each has its own
  static constexpr bool kSelectsEntities = false;
  void members(SpecMembers& in);
  [[nodiscard]] Reach reach() const;
  Task<Result<void>> plan(PlanSources& sources, JobPlan& plan) const;
  [[nodiscard]] static bool writes_blobs() { return false; }
};

}  // namespace tidemark::jobs

namespace tidemark::workers {
Task<Result<JobOutcome>> run(JobContext& context, jobs::OwnSpec spec);
}  // namespace tidemark::workers
