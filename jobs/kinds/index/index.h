// Index rebuild: makes an index table (run/index_pieces.h) hold exactly what a full scan of the source gives: collects
// value -> keys, writes the pieces that differ, removes pieces that should not be. Fenced by (job, epoch). Each piece
// carries as source version a store-wide version taken before the scan began, so of two rebuilds the one that read
// later wins, whatever the order of their writes; an interrupted rebuild scans again under a newer version. What is no
// piece is never replaced: where it stands in the way of one, the entities of that piece are skipped.
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
