// Discard: removes entities together with the blob that each of them points to.
//   1. the entity, if it still has the version that was read
//   2. its blob, if it still has the version that it had before step 1
// Both are fenced by (job, epoch). So a crash leaves at most a blob without an entity, never an entity without its
// blob. Before the first step, the blobs of a few entities are noted in the message. A delivery that finds a note
// erases the blobs that their entities no longer point to. A blob that was written again meanwhile, is leased or has
// snapshots stays.
//   checkpoint {"continuation":C,"loose":[[pk,rk,name,version],...],"skips":[...]}
#pragma once
#include "jobs/kinds/kind.h"

namespace tidemark::jobs {

struct DiscardSpec : Selection {
  std::string source;
  std::string property;
  std::string container;
  bool operator==(const DiscardSpec&) const = default;

  static constexpr std::string_view kName = "discard";
  static constexpr bool kSelectsEntities = true;
  void members(SpecMembers& in);
  [[nodiscard]] Reach reach() const;
  [[nodiscard]] static bool writes_blobs() { return true; }
};

}  // namespace tidemark::jobs

namespace tidemark::workers {
Task<Result<JobOutcome>> run(JobContext& context, jobs::DiscardSpec spec);
}  // namespace tidemark::workers
