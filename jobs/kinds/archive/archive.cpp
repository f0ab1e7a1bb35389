#include "jobs/kinds/archive/archive.h"

#include "jobs/kinds/reach.h"
#include "jobs/spec/spec_reader.h"

namespace tidemark::jobs {

using nlohmann::ordered_json;

ArchiveSpec ArchiveSpec::read(SpecReader& in) {
  ArchiveSpec spec;
  spec.source = in.table("source");
  if (const auto* object = in.object("destination")) {
    spec.archive = read_object_archive(in, *object, "destination", spec.source);
  } else {
    spec.destination = in.table("destination");
    in.two_tables(spec.source, spec.destination);
  }
  static_cast<Selection&>(spec) = in.selection();
  return spec;
}

void ArchiveSpec::write(ordered_json& out) const {
  out["source"] = source;
  out["destination"] = archive ? to_json(*archive) : ordered_json(destination);
  write_selection(*this, out);
}

Reach ArchiveSpec::reach() const {
  return {
      .from = {source}, .to = {destination, archive}, .selection = *this, .step = Step::kArchive, .keeps_key = true};
}

UnarchiveSpec UnarchiveSpec::read(SpecReader& in) {
  UnarchiveSpec spec;
  spec.destination = in.table("destination");
  if (const auto* object = in.object("source")) {
    spec.archive = read_object_archive(in, *object, "source", spec.destination);
  } else {
    spec.source = in.table("source");
    in.two_tables(spec.source, spec.destination);
  }
  static_cast<Selection&>(spec) = in.selection();
  return spec;
}

void UnarchiveSpec::write(ordered_json& out) const {
  out["source"] = archive ? to_json(*archive) : ordered_json(source);
  out["destination"] = destination;
  write_selection(*this, out);
}

Reach UnarchiveSpec::reach() const {
  return {
      .from = {source, archive}, .to = {destination}, .selection = *this, .step = Step::kRestore, .keeps_key = true};
}

}  // namespace tidemark::jobs
