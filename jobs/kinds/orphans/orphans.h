// Orphans: finds the blobs of a container to which no entity of a table points, and with `remove` erases them. A blob
// counts only if it has not changed for graceHours when the job is submitted, since its entity may not have been
// written yet; the table is read after the blobs were listed. It reads the whole table once for every 20,000 blobs.
// Erasing is fenced by (job, epoch) and names the version that was listed, so a blob that was written again stays.
//   checkpoint {"from":name,"ended":B,"found":N,"samples":[names]}; the blob store's ledger counts the erased blobs
#pragma once
#include "jobs/kinds/kind.h"

namespace tidemark::jobs {

struct OrphansSpec {
  std::string source;
  std::string property;
  std::string container;
  std::string prefix;
  std::uint32_t grace_hours = 24;
  bool remove = false;
  bool operator==(const OrphansSpec&) const = default;

  static constexpr std::string_view kName = "orphans";
  static constexpr bool kSelectsEntities = false;
  void members(SpecMembers& in);
  [[nodiscard]] Reach reach() const;
  [[nodiscard]] static bool writes_blobs() { return true; }
};

}  // namespace tidemark::jobs

namespace tidemark::workers {
Task<Result<JobOutcome>> run(JobContext& context, jobs::OrphansSpec spec);
}  // namespace tidemark::workers
