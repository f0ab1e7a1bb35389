// Undo: takes back what an archive, unarchive, undo or copy job did, as far as it still is as that job left it: an
// entity that anybody has written since stays. Undo of an archive job restores, undo of that archives again, and so on;
// undo of a copy removes the copies.
#pragma once
#include "jobs/kinds/kind.h"

namespace tidemark::jobs {

struct UndoSpec {
  std::string job;
  bool operator==(const UndoSpec&) const = default;

  static constexpr std::string_view kName = "undo";
  static constexpr bool kSelectsEntities = true;
  static constexpr KindOption kOptions[] = {{"--job", "job", "the job to take back"}};
  void members(SpecMembers& in);
  /// Says which job, and nothing else: the rest takes a look at the records (resolve).
  [[nodiscard]] Reach reach() const;
  [[nodiscard]] static bool writes_blobs() { return false; }
};

}  // namespace tidemark::jobs

namespace tidemark::workers {
Task<Result<JobOutcome>> run(JobContext& context, jobs::UndoSpec spec);
}  // namespace tidemark::workers
