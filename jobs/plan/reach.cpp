#include "jobs/plan/reach.h"

#include "common/base/encoding.h"
#include "table_store/model/filter.h"

namespace tidemark::jobs {
namespace {

/// A kind that selects entities of a table and names it `source` is understood without a word about it here.
struct ReachOf {
  template <class Spec>
  Reach operator()(const Spec& spec) const {
    Reach out;
    if constexpr (requires { spec.source; }) out.from.table = spec.source;
    if constexpr (requires { spec.destination; }) out.to.table = spec.destination;
    if constexpr (std::is_base_of_v<Selection, Spec>) out.selection = spec;
    if constexpr (requires { spec.whole_table; }) out.everything = spec.whole_table;
    if constexpr (std::is_same_v<Spec, ArchiveSpec> || std::is_same_v<Spec, UnarchiveSpec>) {
      out.keeps_key = true;
      (std::is_same_v<Spec, ArchiveSpec> ? out.to : out.from).archive = spec.archive;
    }
    if constexpr (std::is_same_v<Spec, CopySpec>) {
      out.keeps_key = spec.partition_key_template == "{PartitionKey}" && spec.row_key_template == "{RowKey}";
      auto templates = parse_key_templates(spec.partition_key_template, spec.row_key_template);
      if (!out.keeps_key && templates) out.templates = std::move(*templates);
    }
    return out;
  }
};

}  // namespace

bool is_same(const Location& a, const Location& b) {
  if (!a.archive || !b.archive) return !a.archive && !b.archive && iequals_ascii(a.table, b.table);
  const auto& x = *a.archive;
  const auto& y = *b.archive;
  const bool grouped_alike = x.format == ArchiveFormat::kEntity || x.per == y.per;
  return x.container == y.container && x.directory == y.directory && x.prefix == y.prefix && x.format == y.format &&
         grouped_alike && iequals_ascii(x.table, y.table);
}

std::string_view store_of(const Location& location) {
  if (!location.archive) return "table";
  return location.archive->directory.empty() ? "container" : "directory";
}

const std::string& name_of(const Location& location) {
  if (!location.archive) return location.table;
  return location.archive->directory.empty() ? location.archive->container : location.archive->directory;
}

bool Reach::covers(const table_store::Entity& entity) const {
  if (everything) return true;
  if (selection.entity) {
    return selection.entity->partition_key == entity.partition_key && selection.entity->row_key == entity.row_key;
  }
  if (!selection.filter) return false;
  const auto filter = table_store::Filter::parse(*selection.filter);
  return filter && filter->matches(entity);
}

Reach reach_of(const JobSpec& spec) { return std::visit(ReachOf{}, spec.work); }

}  // namespace tidemark::jobs
