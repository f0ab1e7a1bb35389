// Discard: removes entities together with the blob that each of them points to.
//   1. the entity, if it still is the version that was read
//   2. its blob, if it still is the version that was there before step 1
// Both fenced by (job, epoch). So a crash leaves at most a blob without an entity, never an entity without its blob;
// and before the first step, the blobs of a few entities are noted in the message. Whoever finds a note erases those
// that their entity does not point to any more. A blob that was written again meanwhile, is leased or has snapshots
// stays.
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
  static constexpr KindOption kOptions[] = {
      {"--property", "property", "the property that names the blob"},
      {"--container", "container", "where the blobs are"},
  };
  void members(SpecMembers& in);
  [[nodiscard]] Reach reach() const;
  [[nodiscard]] static bool writes_blobs() { return true; }
};

}  // namespace tidemark::jobs

namespace tidemark::workers {
Task<Result<JobOutcome>> run(JobContext& context, jobs::DiscardSpec spec);
}  // namespace tidemark::workers
