// Builds an index table once: for each value of the property, the keys that have it. It makes the rows as the owners of
// indexes do (workers/indexes), in a form of their own (indexes/rows/list_piece.h). While it runs, it follows the
// source, so what it has read may change; a page of its walk over the source is all that it holds in memory. At the end
// it looks at the rows, and removes what earlier jobs have listed and no entity says any more. Of jobs of one
// destination, one writes at a time (workers/indexes/build_claims.h); the others wait for its end. What is not a job's
// is never replaced: where it stands in the way of a piece, the entities of that piece are skipped.
//   checkpoint {"stage":"table","continuation":C,"done":N,"skips":[...]}
#pragma once
#include "jobs/kinds/kind.h"

namespace tidemark::jobs {

struct IndexSpec {
  std::string source;
  std::string property;
  std::string destination;
  bool operator==(const IndexSpec&) const = default;

  static constexpr std::string_view kName = "index";
  static constexpr bool kSelectsEntities = false;
  static constexpr KindOption kOptions[] = {{"--property", "property", "the property to index by"}};
  void members(SpecMembers& in);
  [[nodiscard]] Reach reach() const;
  [[nodiscard]] static bool writes_blobs() { return false; }
};

}  // namespace tidemark::jobs

namespace tidemark::workers {
Task<Result<JobOutcome>> run(JobContext& context, jobs::IndexSpec spec);
}  // namespace tidemark::workers
