#include "jobs/kinds/discard/discard.h"

#include "jobs/kinds/reach.h"
#include "jobs/spec/spec_members.h"

namespace tidemark::jobs {

void DiscardSpec::members(SpecMembers& in) {
  in.table("source", source);
  in.selection(*this);
  if (in.text("property", property, true) && !is_property_name(property)) {
    in.problem("property must be a property name of at most 255 characters");
  }
  if (in.text("container", container, true) && !is_container_name(container)) {
    in.problem("container must have 3 to 63 lower case letters, digits and single inner hyphens");
  }
}

Reach DiscardSpec::reach() const {
  return {.from = {source},
          .selection = *this,
          .note = "removed, and then the blob in container " + container + " that its " + property + " names",
          .container = container};
}

}  // namespace tidemark::jobs
