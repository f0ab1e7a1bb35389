#include "jobs/job_kinds.h"

#include "common/base/encoding.h"
#include "jobs/job_record.h"
#include "jobs/key_template.h"

namespace tidemark::jobs {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kMaxProjection = 252;
constexpr std::size_t kFingerprintLength = 16;

void write_selection(const Selection& selection, ordered_json& out) {
  if (selection.entity) {
    out["partitionKey"] = selection.entity->partition_key;
    out["rowKey"] = selection.entity->row_key;
  }
  if (selection.filter) out["filter"] = *selection.filter;
}

/// archive and unarchive have the same members.
template <class Spec>
JobWork read_move(SpecReader& in) {
  Spec spec;
  spec.source = in.table("source");
  spec.destination = in.table("destination");
  static_cast<Selection&>(spec) = in.selection();
  in.two_tables(spec.source, spec.destination);
  return spec;
}

template <class Spec>
void write_move(const JobWork& work, ordered_json& out) {
  const auto& spec = std::get<Spec>(work);
  out["source"] = spec.source;
  out["destination"] = spec.destination;
  write_selection(spec, out);
}

std::string read_template(SpecReader& in, const char* name, std::string fallback) {
  auto text = in.text(name, false);
  if (!text) return fallback;
  auto parsed = parse_key_template(*text);
  if (!parsed) in.problem(std::string(name) + " " + parsed.error().message);
  return std::move(*text);
}

JobWork read_copy(SpecReader& in) {
  CopySpec spec;
  spec.source = in.table("source");
  spec.destination = in.table("destination");
  static_cast<Selection&>(spec) = in.selection();
  spec.partition_key_template = read_template(in, "partitionKeyTemplate", "{PartitionKey}");
  spec.row_key_template = read_template(in, "rowKeyTemplate", "{RowKey}");
  spec.properties = in.property_names("properties", kMaxProjection);
  const bool same_keys = spec.partition_key_template == "{PartitionKey}" && spec.row_key_template == "{RowKey}";
  if (same_keys && !spec.source.empty() && iequals_ascii(spec.source, spec.destination)) {
    in.problem("a copy within one table needs a key template, or it would be the original");
  }
  return spec;
}

void write_copy(const JobWork& work, ordered_json& out) {
  const auto& spec = std::get<CopySpec>(work);
  out["source"] = spec.source;
  out["destination"] = spec.destination;
  write_selection(spec, out);
  out["partitionKeyTemplate"] = spec.partition_key_template;
  out["rowKeyTemplate"] = spec.row_key_template;
  if (!spec.properties.empty()) out["properties"] = spec.properties;
}

JobWork read_delete(SpecReader& in) {
  DeleteSpec spec;
  spec.source = in.table("source");
  spec.whole_table = in.boolean("wholeTable").value_or(false);
  static_cast<Selection&>(spec) = in.selection(spec.whole_table);
  return spec;
}

void write_delete(const JobWork& work, ordered_json& out) {
  const auto& spec = std::get<DeleteSpec>(work);
  out["source"] = spec.source;
  write_selection(spec, out);
  if (spec.whole_table) out["wholeTable"] = true;
}

JobWork read_index(SpecReader& in) {
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

void write_index(const JobWork& work, ordered_json& out) {
  const auto& spec = std::get<IndexSpec>(work);
  out["source"] = spec.source;
  out["property"] = spec.property;
  out["destination"] = spec.destination;
}

JobWork read_undo(SpecReader& in) {
  UndoSpec spec;
  if (auto job = in.text("job", true)) {
    if (!is_job_id(*job)) in.problem("job must be the id of a job");
    spec.job = std::move(*job);
  }
  return spec;
}

void write_undo(const JobWork& work, ordered_json& out) { out["job"] = std::get<UndoSpec>(work).job; }

JobWork read_redrive(SpecReader& in) {
  RedriveSpec spec;
  spec.which.kind = in.text("poisonKind", false).value_or("");
  if (!spec.which.kind.empty() && spec.which.kind != "unknown" && find_kind(spec.which.kind) == nullptr) {
    in.problem("poisonKind must be a kind of job, or unknown");
  }
  spec.which.fingerprint = in.text("fingerprint", false).value_or("");
  if (!spec.which.fingerprint.empty() && spec.which.fingerprint.size() != kFingerprintLength) {
    in.problem("fingerprint must have 16 hex digits");
  }
  spec.which.moved_after = in.time("movedAfter");
  spec.which.moved_before = in.time("movedBefore");
  spec.per_second = static_cast<std::uint32_t>(in.integer("perSecond", 1, 10'000).value_or(10));
  spec.canary = static_cast<std::uint32_t>(in.integer("canary", 0, 100).value_or(0));
  if (auto limit = in.integer("limit", 1, INT64_MAX)) spec.limit = static_cast<std::uint64_t>(*limit);
  return spec;
}

void write_redrive(const JobWork& work, ordered_json& out) {
  const auto& spec = std::get<RedriveSpec>(work);
  if (!spec.which.kind.empty()) out["poisonKind"] = spec.which.kind;
  if (!spec.which.fingerprint.empty()) out["fingerprint"] = spec.which.fingerprint;
  if (spec.which.moved_after) out["movedAfter"] = to_iso8601(*spec.which.moved_after);
  if (spec.which.moved_before) out["movedBefore"] = to_iso8601(*spec.which.moved_before);
  out["perSecond"] = spec.per_second;
  out["canary"] = spec.canary;
  if (spec.limit) out["limit"] = *spec.limit;
}

JobWork read_callback(SpecReader& in) { return read_callback_spec(in); }

void write_callback(const JobWork& work, ordered_json& out) { write_callback_spec(std::get<CallbackSpec>(work), out); }

constexpr Kind kKinds[] = {
    {"archive", &read_move<ArchiveSpec>, &write_move<ArchiveSpec>, true},
    {"index", &read_index, &write_index},
    {"unarchive", &read_move<UnarchiveSpec>, &write_move<UnarchiveSpec>, true},
    {"copy", &read_copy, &write_copy, true},
    {"delete", &read_delete, &write_delete, true},
    {"undo", &read_undo, &write_undo, true},
    {"redrive", &read_redrive, &write_redrive},
    {"callback", &read_callback, &write_callback},
};
static_assert(std::size(kKinds) == std::variant_size_v<JobWork>);

}  // namespace

std::span<const Kind> kinds() { return kKinds; }

const Kind* find_kind(std::string_view name) {
  for (const auto& kind : kKinds) {
    if (kind.name == name) return &kind;
  }
  return nullptr;
}

}  // namespace tidemark::jobs
