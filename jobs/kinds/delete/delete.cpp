#include "jobs/kinds/delete/delete.h"

#include "jobs/kinds/reach.h"
#include "jobs/spec/spec_reader.h"

namespace tidemark::jobs {

DeleteSpec DeleteSpec::read(SpecReader& in) {
  DeleteSpec spec;
  spec.source = in.table("source");
  spec.whole_table = in.boolean("wholeTable").value_or(false);
  static_cast<Selection&>(spec) = in.selection(spec.whole_table);
  return spec;
}

void DeleteSpec::write(nlohmann::ordered_json& out) const {
  out["source"] = source;
  write_selection(*this, out);
  if (whole_table) out["wholeTable"] = true;
}

Reach DeleteSpec::reach() const {
  Reach out{.from = {source}, .selection = *this, .step = Step::kErase, .everything = whole_table};
  if (whole_table) {
    out.step = Step::kOther;
    out.note = "removed together with the table " + source;
  }
  return out;
}

}  // namespace tidemark::jobs
