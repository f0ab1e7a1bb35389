#include "jobs/kinds/orphans/orphans.h"

#include "common/base/encoding.h"
#include "jobs/kinds/reach.h"
#include "jobs/spec/spec_members.h"

namespace tidemark::jobs {
namespace {
constexpr std::size_t kMaxPrefixUnits = 1024;
constexpr std::int64_t kMaxGraceHours = 87'600;
}  // namespace

void OrphansSpec::members(SpecMembers& in) {
  in.table("source", source);
  if (in.text("property", property, true) && !is_property_name(property)) {
    in.problem("property must be a property name of at most 255 characters");
  }
  if (in.text("container", container, true) && !is_container_name(container)) {
    in.problem("container must have 3 to 63 lower case letters, digits and single inner hyphens");
  }
  if (in.text("prefix", prefix) && utf16_length(prefix) > kMaxPrefixUnits) {
    in.problem("prefix must have at most 1024 characters");
  }
  in.number("graceHours", grace_hours, 0, kMaxGraceHours);
  in.flag("remove", remove);
}

Reach OrphansSpec::reach() const {
  return {.from = {source},
          .note = "stays; the blob in container " + container + " that its " + property + " names too",
          .container = container};
}

}  // namespace tidemark::jobs
