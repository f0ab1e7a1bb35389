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
  in.table("source", source, kTableToRead);
  if (in.text("property", property, true, {.meaning = "the property that names the blob"}) &&
      !is_property_name(property)) {
    in.problem("property must be a property name of at most 255 characters");
  }
  const About about_container{.meaning = "where the blobs are", .least = 3, .most = 63};
  if (in.text("container", container, true, about_container) && !is_container_name(container)) {
    in.problem("container must have 3 to 63 lower case letters, digits and single inner hyphens");
  }
  const About about_prefix{.meaning = "only blobs whose names begin with it", .most = kMaxPrefixUnits};
  if (in.text("prefix", prefix, about_prefix) && utf16_length(prefix) > kMaxPrefixUnits) {
    in.problem("prefix must have at most 1024 characters");
  }
  in.number("graceHours", grace_hours, 0, kMaxGraceHours, {.meaning = "only blobs that have not changed for so long"});
  in.flag("remove", remove, {.meaning = "erase them, instead of telling only"});
}

Reach OrphansSpec::reach() const {
  return {.from = {source},
          .note = "stays; the blob in container " + container + " that its " + property + " names too",
          .container = container};
}

}  // namespace tidemark::jobs
