// Copy: writes denormalised copies, with all properties or some, under keys made from templates. Copies are written
// with "put if newer" and the version of the original, fenced by (job, epoch). The original is never changed, and
// neither is an entity in the destination that is not a copy. Within one table, copies are not copied again. If several
// originals get the same key, the copy of the newest one remains.
//   checkpoint {"continuation":C,"done":N,"skips":[...]}     done: originals of finished pages whose copies exist
#pragma once
#include <vector>

#include "jobs/kinds/kind.h"

namespace tidemark::jobs {

struct CopySpec : Selection {
  std::string source;
  std::string destination;                                // may be the source
  std::string partition_key_template = "{PartitionKey}";  // key_template.h
  std::string row_key_template = "{RowKey}";
  std::vector<std::string> properties;  // empty: all
  Accounts accounts;
  bool operator==(const CopySpec&) const = default;

  static constexpr std::string_view kName = "copy";
  static constexpr bool kSelectsEntities = true;
  void members(SpecMembers& in);
  [[nodiscard]] Reach reach() const;
  [[nodiscard]] static bool writes_blobs() { return false; }
};

}  // namespace tidemark::jobs

namespace tidemark::workers {
Task<Result<JobOutcome>> run(JobContext& context, jobs::CopySpec spec);
}  // namespace tidemark::workers
