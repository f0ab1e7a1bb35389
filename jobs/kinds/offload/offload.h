// Moves large properties of entities out to blobs (offload) and back (inline). The entity is never without the value:
//   offload  1. writes the blob, whole and durable, under a name that only this job uses for this version of the entity
//            2. writes the entity with links (blob_link.h) in place of the values, if it still has that version
//   inline   1. writes the entity with the values in place of the links, if it still has the version that was read
//            2. erases the blobs, unless keepBlobs
// All steps are fenced by (job, epoch). Before the first step the blobs of a few entities are noted in the message. A
// delivery that finds a note erases the blobs that their entities do not link to: an upload whose entity changed, or a
// value that is back already. No other job can link to these blobs later, for their names hold job and version, and
// this job's earlier deliveries are fenced off. Entities that change are read again.
//   checkpoint {"continuation":C,"loose":[[pk,rk,container,name],...],"skips":[...]}
#pragma once
#include <vector>

#include "jobs/kinds/kind.h"

namespace tidemark::jobs {

struct OffloadSpec : Selection {
  std::string source;
  std::string container;
  std::string prefix;
  std::vector<std::string> properties;  // empty: all
  std::uint64_t min_bytes = 0;
  bool operator==(const OffloadSpec&) const = default;

  static constexpr std::string_view kName = "offload";
  static constexpr bool kSelectsEntities = true;
  void members(SpecMembers& in);
  [[nodiscard]] Reach reach() const;
  [[nodiscard]] static bool writes_blobs() { return true; }
};

struct InlineSpec : Selection {
  std::string source;
  std::vector<std::string> properties;  // empty: all
  bool keep_blobs = false;
  bool operator==(const InlineSpec&) const = default;

  static constexpr std::string_view kName = "inline";
  static constexpr bool kSelectsEntities = true;
  void members(SpecMembers& in);
  [[nodiscard]] Reach reach() const;
  [[nodiscard]] static bool writes_blobs() { return true; }
};

}  // namespace tidemark::jobs

namespace tidemark::workers {
Task<Result<JobOutcome>> run(JobContext& context, jobs::OffloadSpec spec);
Task<Result<JobOutcome>> run(JobContext& context, jobs::InlineSpec spec);
}  // namespace tidemark::workers
