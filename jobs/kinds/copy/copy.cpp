#include "jobs/kinds/copy/copy.h"

#include "common/base/encoding.h"
#include "jobs/kinds/reach.h"
#include "jobs/spec/spec_members.h"

namespace tidemark::jobs {
namespace {

bool keeps_key(const CopySpec& spec) {
  return spec.partition_key_template == "{PartitionKey}" && spec.row_key_template == "{RowKey}";
}

}  // namespace

void CopySpec::members(SpecMembers& in) {
  in.table("source", source, kTableToRead);
  in.table("destination", destination, kTableToWrite);
  in.accounts(accounts);
  in.selection(*this);
  template_member(in, "partitionKeyTemplate", partition_key_template, {.meaning = "such as {Department}"});
  template_member(in, "rowKeyTemplate", row_key_template, {.meaning = "such as {RowKey}_{LastName}"});
  in.property_names("properties", properties, kTheseProperties);
  const bool one_account = accounts.source == accounts.destination;
  if (keeps_key(*this) && one_account && !source.empty() && iequals_ascii(source, destination)) {
    in.problem("a copy within one table needs a key template, or it would be the original");
  }
}

Reach CopySpec::reach() const {
  Reach out{.from = {source, {}, accounts.source},
            .to = {destination, {}, accounts.destination},
            .selection = *this,
            .step = Step::kCopy,
            .keeps_key = keeps_key(*this)};
  if (out.keeps_key) return out;
  if (auto templates = parse_key_templates(partition_key_template, row_key_template))
    out.templates = std::move(*templates);
  return out;
}

}  // namespace tidemark::jobs
