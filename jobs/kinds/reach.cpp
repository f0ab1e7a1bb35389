#include "jobs/kinds/reach.h"

#include "common/base/encoding.h"
#include "table_store/model/filter.h"

namespace tidemark::jobs {
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

std::optional<EntityKey> Reach::key_for(table_store::Entity entity) const {
  if (!templates) return std::nullopt;
  set_values(entity, sets);
  return apply_key_templates(*templates, entity);
}

Reach reach_of(const JobSpec& spec) {
  return std::visit(
      [](const auto& work) {
        auto reach = work.reach();
        reach.writes_blobs = work.writes_blobs();
        return reach;
      },
      spec.work);
}

}  // namespace tidemark::jobs
