#include "jobs/kinds/rekey/rekey.h"

#include "jobs/kinds/reach.h"
#include "jobs/spec/spec_members.h"

namespace tidemark::jobs {
namespace {

constexpr About kAboutPartitionKey{.meaning = "template of the new key, such as {Department}",
                                   .flag = "--new-partition-key"};
constexpr About kAboutRowKey{.meaning = "template of the new key, such as {LastName}_{RowKey}",
                             .flag = "--new-row-key"};

}  // namespace

void RekeySpec::members(SpecMembers& in) {
  in.table("source", source, kTableToRead);
  in.entity_or_filter(*this);
  if (!in.writes() && !in.has("partitionKey") && !in.has("rowKey")) {
    in.problem("give partitionKey or rowKey, the template of the new key, or both");
  }
  template_member(in, "partitionKey", partition_key, kAboutPartitionKey);
  template_member(in, "rowKey", row_key, kAboutRowKey);
  values_member(in, "set", set, false);
}

Reach RekeySpec::reach() const {
  Reach out{.from = {source}, .to = {source}, .selection = *this, .step = Step::kRekey, .sets = set};
  if (auto templates = parse_key_templates(partition_key, row_key)) out.templates = std::move(*templates);
  return out;
}

}  // namespace tidemark::jobs
