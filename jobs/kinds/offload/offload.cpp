#include "jobs/kinds/offload/offload.h"

#include "jobs/kinds/reach.h"
#include "jobs/spec/spec_members.h"

namespace tidemark::jobs {
namespace {
constexpr std::int64_t kMostMinBytes = 1 << 20;  // no property is larger
}

void OffloadSpec::members(SpecMembers& in) {
  in.table("source", source, kTableToRead);
  in.selection(*this);
  if (in.text("container", container, true, {.meaning = "for the values", .least = 3, .most = 63}) &&
      !is_container_name(container)) {
    in.problem("container must have 3 to 63 lower case letters, digits and single inner hyphens");
  }
  if (in.text("prefix", prefix, kAboutPrefix) && !is_object_prefix(prefix)) {
    in.problem("prefix must be segments of letters, digits, '-', '_' and inner dots, each ended by '/'");
  }
  in.property_names("properties", properties, kTheseProperties);
  in.number("minBytes", min_bytes, 0, kMostMinBytes, {.meaning = "properties of at least so many bytes"});
  if (!in.has("properties") && !in.has("minBytes")) in.problem("give properties or minBytes: what is large");
}

Reach OffloadSpec::reach() const {
  return {.from = {source},
          .selection = *this,
          .note = "move properties of at least " + std::to_string(min_bytes) + " bytes, if it has any, to container " +
                  container};
}

void InlineSpec::members(SpecMembers& in) {
  in.table("source", source, kTableToRead);
  in.selection(*this);
  in.property_names("properties", properties, kTheseProperties);
  in.flag("keepBlobs", keep_blobs, {.meaning = "leave the blobs where they are"});
}

Reach InlineSpec::reach() const {
  return {.from = {source}, .selection = *this, .note = "put properties back, if any are in blobs"};
}

}  // namespace tidemark::jobs
