// Undo: takes back the changes of an archive, unarchive, undo, copy or transaction job, except for entities that were
// written since. Undo of an archive job restores, undo of that archives again, and so on; undo of a copy removes the
// copies; undo of a transaction, which cannot be undone itself, goes back from step to step.
#pragma once
#include "jobs/kinds/kind.h"

namespace tidemark::jobs {

struct UndoSpec {
  std::string job;
  bool operator==(const UndoSpec&) const = default;

  static constexpr std::string_view kName = "undo";
  static constexpr bool kSelectsEntities = true;
  void members(SpecMembers& in);
  /// Names only the job; resolve() finds everything else in the records.
  [[nodiscard]] Reach reach() const;
  [[nodiscard]] static bool writes_blobs() { return false; }
};

}  // namespace tidemark::jobs

namespace tidemark::workers {
Task<Result<JobOutcome>> run(JobContext& context, jobs::UndoSpec spec);
}  // namespace tidemark::workers
