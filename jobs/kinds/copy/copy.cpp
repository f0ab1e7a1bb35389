#include "jobs/kinds/copy/copy.h"

#include "common/base/encoding.h"
#include "jobs/kinds/reach.h"
#include "jobs/spec/spec_reader.h"

namespace tidemark::jobs {
namespace {

std::string read_template(SpecReader& in, const char* name, std::string fallback) {
  auto text = in.text(name, false);
  if (!text) return fallback;
  auto parsed = parse_key_template(*text);
  if (!parsed) in.problem(std::string(name) + " " + parsed.error().message);
  return std::move(*text);
}

bool keeps_key(const CopySpec& spec) {
  return spec.partition_key_template == "{PartitionKey}" && spec.row_key_template == "{RowKey}";
}

}  // namespace

CopySpec CopySpec::read(SpecReader& in) {
  CopySpec spec;
  spec.source = in.table("source");
  spec.destination = in.table("destination");
  static_cast<Selection&>(spec) = in.selection();
  spec.partition_key_template = read_template(in, "partitionKeyTemplate", "{PartitionKey}");
  spec.row_key_template = read_template(in, "rowKeyTemplate", "{RowKey}");
  spec.properties = in.property_names("properties");
  if (keeps_key(spec) && !spec.source.empty() && iequals_ascii(spec.source, spec.destination)) {
    in.problem("a copy within one table needs a key template, or it would be the original");
  }
  return spec;
}

void CopySpec::write(nlohmann::ordered_json& out) const {
  out["source"] = source;
  out["destination"] = destination;
  write_selection(*this, out);
  out["partitionKeyTemplate"] = partition_key_template;
  out["rowKeyTemplate"] = row_key_template;
  if (!properties.empty()) out["properties"] = properties;
}

Reach CopySpec::reach() const {
  Reach out{
      .from = {source}, .to = {destination}, .selection = *this, .step = Step::kCopy, .keeps_key = keeps_key(*this)};
  if (out.keeps_key) return out;
  if (auto templates = parse_key_templates(partition_key_template, row_key_template))
    out.templates = std::move(*templates);
  return out;
}

}  // namespace tidemark::jobs
