#include "jobs/kinds/merge/merge.h"

#include "jobs/kinds/reach.h"
#include "jobs/spec/spec_members.h"

namespace tidemark::jobs {

void MergeSpec::members(SpecMembers& in) {
  in.table("source", source, kTableToRead);
  in.selection(*this);
  values_member(in, "set", set, true);
  if (in.any("remove") != nullptr) in.problem("remove: a merge sets properties and removes none");
}

Reach MergeSpec::reach() const {
  std::vector<std::string> names;
  for (const auto& [name, value] : set) names.push_back(name);
  return {.from = {source}, .selection = *this, .note = "set " + joined(names) + ", unless it has these values"};
}

}  // namespace tidemark::jobs
