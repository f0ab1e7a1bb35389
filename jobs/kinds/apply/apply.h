// Apply: makes the job of a rule (feeds/on_change) for entities that exist already, as if each had just been inserted.
// A rule itself sees only changes; so what its table holds from before is dealt with when somebody asks for it, counted
// beforehand by a plan and paced by maxPerSecond. An entity makes one job for each of its versions, however often the
// rule is applied.
//   checkpoint {"continuation":C,"done":N,"skips":[...]}     done: entities of finished pages
#pragma once
#include "jobs/kinds/kind.h"

namespace tidemark::jobs {

struct ApplySpec : Selection {
  std::string source;
  std::string rule;  // its name
  bool operator==(const ApplySpec&) const = default;

  static constexpr std::string_view kName = "apply";
  static constexpr bool kSelectsEntities = true;
  void members(SpecMembers& in);
  [[nodiscard]] Reach reach() const;
  [[nodiscard]] static bool writes_blobs() { return false; }
};

}  // namespace tidemark::jobs

namespace tidemark::workers {
Task<Result<JobOutcome>> run(JobContext& context, jobs::ApplySpec spec);
}  // namespace tidemark::workers
