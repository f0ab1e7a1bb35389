// Rekey: moves entities of a table to other keys of the same table, made from templates ("an employee changes
// department"), and sets properties on the way; the templates see the new values. The work is done in
// workers/kinds/rekey_side.h.
#pragma once
#include "jobs/kinds/kind.h"
#include "jobs/spec/property_values.h"

namespace tidemark::jobs {

struct RekeySpec : Selection {
  std::string source;
  std::string partition_key = "{PartitionKey}";  // templates (key_template.h)
  std::string row_key = "{RowKey}";
  PropertyValues set;
  bool operator==(const RekeySpec&) const = default;

  static constexpr std::string_view kName = "rekey";
  static constexpr bool kSelectsEntities = true;
  void members(SpecMembers& in);
  [[nodiscard]] Reach reach() const;
  [[nodiscard]] static bool writes_blobs() { return false; }
};

}  // namespace tidemark::jobs

namespace tidemark::workers {
Task<Result<JobOutcome>> run(JobContext& context, jobs::RekeySpec spec);
}  // namespace tidemark::workers
