// Merge: sets properties of one entity, or of those that a filter selects when their page is read. Each write names the
// version that was read and is fenced by (job, epoch); an entity that changed meanwhile is looked at again, and stays
// as it is if the filter no longer selects it. An entity that already has these values counts as done without being
// written.
//   checkpoint {"continuation":C,"done":N,"skips":[...]}     done: entities of finished pages
#pragma once
#include "jobs/kinds/kind.h"
#include "jobs/spec/property_values.h"

namespace tidemark::jobs {

struct MergeSpec : Selection {
  std::string source;
  PropertyValues set;
  bool operator==(const MergeSpec&) const = default;

  static constexpr std::string_view kName = "merge";
  static constexpr bool kSelectsEntities = true;
  void members(SpecMembers& in);
  [[nodiscard]] Reach reach() const;
  [[nodiscard]] static bool writes_blobs() { return false; }
};

}  // namespace tidemark::jobs

namespace tidemark::workers {
Task<Result<JobOutcome>> run(JobContext& context, jobs::MergeSpec spec);
}  // namespace tidemark::workers
