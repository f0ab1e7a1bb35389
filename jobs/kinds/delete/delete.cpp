#include "jobs/kinds/delete/delete.h"

#include "jobs/kinds/reach.h"
#include "jobs/spec/spec_members.h"

namespace tidemark::jobs {

void DeleteSpec::members(SpecMembers& in) {
  in.table("source", source, kTableToRead);
  if (!in.writes()) in.flag("wholeTable", whole_table, {.meaning = "the table itself"});
  in.selection(*this, whole_table);
  if (in.writes()) in.flag("wholeTable", whole_table);
}

Reach DeleteSpec::reach() const {
  Reach out{.from = {source}, .selection = *this, .step = Step::kErase, .everything = whole_table};
  if (whole_table) {
    out.step = Step::kOther;
    out.note = "removed together with the table " + source;
  }
  return out;
}

}  // namespace tidemark::jobs
