// Delete: removes one entity, those that a filter selects when their page is read, or a whole table. Each removal names
// the version that was read and is fenced by (job, epoch); an entity that changed meanwhile is looked at again, and
// stays if it no longer matches. A whole table is removed in one step, whose mark in the ledger keeps a later delivery
// from removing a table of the same name that was created since.
//   checkpoint {"continuation":C}
#pragma once
#include "jobs/kinds/kind.h"

namespace tidemark::jobs {

struct DeleteSpec : Selection {
  std::string source;
  bool whole_table = false;
  bool operator==(const DeleteSpec&) const = default;

  static constexpr std::string_view kName = "delete";
  static constexpr bool kSelectsEntities = true;
  void members(SpecMembers& in);
  [[nodiscard]] Reach reach() const;
  [[nodiscard]] static bool writes_blobs() { return false; }
};

}  // namespace tidemark::jobs

namespace tidemark::workers {
Task<Result<JobOutcome>> run(JobContext& context, jobs::DeleteSpec spec);
}  // namespace tidemark::workers
