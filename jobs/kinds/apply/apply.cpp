#include "jobs/kinds/apply/apply.h"

#include "jobs/kinds/reach.h"
#include "jobs/spec/spec_members.h"

namespace tidemark::jobs {

void ApplySpec::members(SpecMembers& in) {
  in.table("source", source, kTableToRead);
  in.selection(*this);
  in.text("rule", rule, true, {.meaning = "the rule of this table that makes the jobs", .least = 1, .most = 63});
}

Reach ApplySpec::reach() const {
  return {
      .from = {source}, .selection = *this, .note = "makes a job of the rule " + rule + ", if its filter selects it"};
}

}  // namespace tidemark::jobs
