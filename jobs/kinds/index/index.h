// Builds an index table once: for each value of the property, the keys that have it. It makes the rows as the owners of
// indexes do (workers/indexes), in a form of their own (indexes/rows/list_piece.h). While it runs, it follows the
// source, so entities that it has read may change; it holds only one page of its walk over the source in memory. At the
// end it looks at the rows, and removes entries of earlier jobs that no entity confirms any more. Of several jobs with
// one destination, one writes at a time (workers/indexes/build_claims.h); the others wait for its end. Rows that no job
// wrote are never replaced: where one is in the way of a piece, the entities of that piece are skipped.
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
  void members(SpecMembers& in);
  [[nodiscard]] Reach reach() const;
  [[nodiscard]] static bool writes_blobs() { return false; }
};

}  // namespace tidemark::jobs

namespace tidemark::workers {
Task<Result<JobOutcome>> run(JobContext& context, jobs::IndexSpec spec);
}  // namespace tidemark::workers
