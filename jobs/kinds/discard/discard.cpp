#include "jobs/kinds/discard/discard.h"

#include "jobs/kinds/reach.h"
#include "jobs/spec/spec_members.h"

namespace tidemark::jobs {

void DiscardSpec::members(SpecMembers& in) {
  in.table("source", source, kTableToRead);
  in.selection(*this);
  const About about_property{
      .meaning = "the property that names the blob", .least = 1, .most = table_store::kMaxPropertyNameUnits};
  if (in.text("property", property, true, about_property) && !is_property_name(property)) {
    in.problem("property must be a property name of at most 255 characters");
  }
  const About about_container{.meaning = "where the blobs are", .least = 3, .most = 63};
  if (in.text("container", container, true, about_container) && !is_container_name(container)) {
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
