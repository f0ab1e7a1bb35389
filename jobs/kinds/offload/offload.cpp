#include "jobs/kinds/offload/offload.h"

#include "jobs/kinds/reach.h"
#include "jobs/spec/spec_reader.h"

namespace tidemark::jobs {
namespace {
constexpr std::int64_t kMostMinBytes = 1 << 20;  // no property is larger
}

OffloadSpec OffloadSpec::read(SpecReader& in) {
  OffloadSpec spec;
  spec.source = in.table("source");
  static_cast<Selection&>(spec) = in.selection();
  spec.container = in.text("container", true).value_or("");
  if (!spec.container.empty() && !is_container_name(spec.container)) {
    in.problem("container must have 3 to 63 lower case letters, digits and single inner hyphens");
  }
  spec.prefix = in.text("prefix", false).value_or("");
  if (!is_object_prefix(spec.prefix)) {
    in.problem("prefix must be segments of letters, digits, '-', '_' and inner dots, each ended by '/'");
  }
  spec.properties = in.property_names("properties");
  spec.min_bytes = static_cast<std::uint64_t>(in.integer("minBytes", 0, kMostMinBytes).value_or(0));
  if (!in.has("properties") && !in.has("minBytes")) in.problem("give properties or minBytes: what is large");
  return spec;
}

void OffloadSpec::write(nlohmann::ordered_json& out) const {
  out["source"] = source;
  write_selection(*this, out);
  out["container"] = container;
  if (!prefix.empty()) out["prefix"] = prefix;
  if (!properties.empty()) out["properties"] = properties;
  out["minBytes"] = min_bytes;
}

Reach OffloadSpec::reach() const {
  return {.from = {source},
          .selection = *this,
          .note = "move properties of at least " + std::to_string(min_bytes) + " bytes, if it has any, to container " +
                  container};
}

InlineSpec InlineSpec::read(SpecReader& in) {
  InlineSpec spec;
  spec.source = in.table("source");
  static_cast<Selection&>(spec) = in.selection();
  spec.properties = in.property_names("properties");
  spec.keep_blobs = in.boolean("keepBlobs").value_or(false);
  return spec;
}

void InlineSpec::write(nlohmann::ordered_json& out) const {
  out["source"] = source;
  write_selection(*this, out);
  if (!properties.empty()) out["properties"] = properties;
  if (keep_blobs) out["keepBlobs"] = true;
}

Reach InlineSpec::reach() const {
  return {.from = {source}, .selection = *this, .note = "put properties back, if any are in blobs"};
}

}  // namespace tidemark::jobs
