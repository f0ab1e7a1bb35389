#include "jobs/kinds/index/index.h"

#include "jobs/kinds/reach.h"
#include "jobs/spec/spec_members.h"

namespace tidemark::jobs {

void IndexSpec::members(SpecMembers& in) {
  in.table("source", source, kTableToRead);
  if (in.text("property", property, true, {.meaning = "the property to index by"})) {
    if (!is_property_name(property)) in.problem("property must be a property name of at most 255 characters");
    if (property == "Timestamp") in.problem("property must not be Timestamp: it changes with every write");
  }
  in.table("destination", destination, kTableToWrite);
  in.two_tables(source, destination);
}

Reach IndexSpec::reach() const {
  return {.from = {source},
          .to = {destination},
          .note = "list its key in " + destination + " under its " + property + ", if it has one"};
}

}  // namespace tidemark::jobs
