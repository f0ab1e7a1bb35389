// Adoption of an archive directory: enters its files into the catalog (jobs/objects/file_objects.h), from their names
// and contents, and makes the directory belong to this stack (jobs/objects/file_owner.h). For a catalog that was lost,
// and for files that came from another stack or from a backup. Each row is entered as a put would enter it: the newest
// version of an object wins, and a row whose file exists stays, so jobs may run meanwhile.
//   ours already   Only files of writers that this table store does not know are entered: all other files without a row
//                  were restored or given up, and are left to the collector.
//   otherwise      All files are entered, also those in quarantine. The stamp comes last; nothing is collected before.
//   another's      Only with takeOver.
// Fails with kJobInvalid and the errors of the stores.
#pragma once
#include "jobs/kinds/kind.h"

namespace tidemark::jobs {

struct AdoptSpec {
  std::string directory;
  bool take_over = false;
  bool operator==(const AdoptSpec&) const = default;

  static constexpr std::string_view kName = "adopt";
  static constexpr bool kSelectsEntities = false;
  void members(SpecMembers& in);
  [[nodiscard]] Reach reach() const;
  Task<Result<void>> plan(PlanSources& sources, JobPlan& plan) const;
  [[nodiscard]] static bool writes_blobs() { return false; }
};

}  // namespace tidemark::jobs

namespace tidemark::workers {
Task<Result<JobOutcome>> run(JobContext& context, jobs::AdoptSpec spec);
}  // namespace tidemark::workers
