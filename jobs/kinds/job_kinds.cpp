#include "jobs/kinds/job_kinds.h"

#include "common/base/encoding.h"
#include "jobs/spec/key_template.h"
#include "jobs/store/job_record.h"

namespace tidemark::jobs {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kMaxProjection = 252;
constexpr std::int64_t kMostMinBytes = 1 << 20;  // no property is larger
constexpr std::size_t kFingerprintLength = 16;

void write_selection(const Selection& selection, ordered_json& out) {
  if (selection.entity) {
    out["partitionKey"] = selection.entity->partition_key;
    out["rowKey"] = selection.entity->row_key;
  }
  if (selection.filter) out["filter"] = *selection.filter;
}

JobWork read_archive(SpecReader& in) {
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

void write_archive(const JobWork& work, ordered_json& out) {
  const auto& spec = std::get<ArchiveSpec>(work);
  out["source"] = spec.source;
  out["destination"] = spec.archive ? to_json(*spec.archive) : ordered_json(spec.destination);
  write_selection(spec, out);
}

JobWork read_unarchive(SpecReader& in) {
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

void write_unarchive(const JobWork& work, ordered_json& out) {
  const auto& spec = std::get<UnarchiveSpec>(work);
  out["source"] = spec.archive ? to_json(*spec.archive) : ordered_json(spec.source);
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

JobWork read_offload(SpecReader& in) {
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
  spec.properties = in.property_names("properties", kMaxProjection);
  spec.min_bytes = static_cast<std::uint64_t>(in.integer("minBytes", 0, kMostMinBytes).value_or(0));
  if (!in.has("properties") && !in.has("minBytes")) in.problem("give properties or minBytes: what is large");
  return spec;
}

void write_offload(const JobWork& work, ordered_json& out) {
  const auto& spec = std::get<OffloadSpec>(work);
  out["source"] = spec.source;
  write_selection(spec, out);
  out["container"] = spec.container;
  if (!spec.prefix.empty()) out["prefix"] = spec.prefix;
  if (!spec.properties.empty()) out["properties"] = spec.properties;
  out["minBytes"] = spec.min_bytes;
}

JobWork read_inline(SpecReader& in) {
  InlineSpec spec;
  spec.source = in.table("source");
  static_cast<Selection&>(spec) = in.selection();
  spec.properties = in.property_names("properties", kMaxProjection);
  spec.keep_blobs = in.boolean("keepBlobs").value_or(false);
  return spec;
}

void write_inline(const JobWork& work, ordered_json& out) {
  const auto& spec = std::get<InlineSpec>(work);
  out["source"] = spec.source;
  write_selection(spec, out);
  if (!spec.properties.empty()) out["properties"] = spec.properties;
  if (spec.keep_blobs) out["keepBlobs"] = true;
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
    {"archive", &read_archive, &write_archive, true},
    {"index", &read_index, &write_index},
    {"unarchive", &read_unarchive, &write_unarchive, true},
    {"copy", &read_copy, &write_copy, true},
    {"delete", &read_delete, &write_delete, true},
    {"undo", &read_undo, &write_undo, true},
    {"redrive", &read_redrive, &write_redrive},
    {"callback", &read_callback, &write_callback},
    {"offload", &read_offload, &write_offload, true},
    {"inline", &read_inline, &write_inline, true},
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
