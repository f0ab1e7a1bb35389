#include "jobs/kinds/index/index.h"

#include "jobs/kinds/reach.h"
#include "jobs/spec/spec_reader.h"

namespace tidemark::jobs {

IndexSpec IndexSpec::read(SpecReader& in) {
  IndexSpec spec;
  spec.source = in.table("source");
  spec.destination = in.table("destination");
  in.two_tables(spec.source, spec.destination);
  if (auto property = in.text("property", true)) {
    if (!is_property_name(*property)) in.problem("property must be a property name of at most 255 characters");
    if (*property == "Timestamp") in.problem("property must not be Timestamp: it changes with every write");
    spec.property = std::move(*property);
  }
  return spec;
}

void IndexSpec::write(nlohmann::ordered_json& out) const {
  out["source"] = source;
  out["property"] = property;
  out["destination"] = destination;
}

Reach IndexSpec::reach() const {
  return {.from = {source},
          .to = {destination},
          .note = "list its key in " + destination + " under its " + property + ", if it has one"};
}

}  // namespace tidemark::jobs
