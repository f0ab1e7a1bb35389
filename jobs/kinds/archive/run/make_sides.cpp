#include "jobs/kinds/archive/run/make_sides.h"

#include "jobs/kinds/archive/run/document_side.h"
#include "jobs/kinds/archive/run/part_side.h"
#include "jobs/kinds/archive/run/table_side.h"

namespace tidemark::workers {
namespace {

Result<std::unique_ptr<Side>> make_object_side(JobContext& context, const jobs::ObjectArchive& archive,
                                               Selected selection) {
  auto filter = TRY(table_store::Filter::parse(selection.filter));
  auto store = TRY(jobs::open_archive(context.objects, context.tables, archive));
  if (archive.format == jobs::ArchiveFormat::kLines) {
    return std::make_unique<PartSide>(context, std::move(store), archive, std::move(selection), std::move(filter));
  }
  return std::make_unique<DocumentSide>(context, std::move(store), archive, std::move(selection), std::move(filter));
}

}  // namespace

Result<Sides> make_sides(JobContext& context, const MoveSpec& spec) {
  const Selected selected{spec.source, spec.filter.value_or(""), spec.operation};
  const bool from_objects = spec.archive && spec.back;
  Sides sides;
  if (from_objects) {
    sides.from = TRY(make_object_side(context, *spec.archive, selected));
  } else {
    sides.from = std::make_unique<TableSide>(context, selected, TableRole{.back = spec.back});
  }
  if (spec.archive && !spec.back) {
    sides.to = TRY(make_object_side(context, *spec.archive, {}));
  } else {
    // Objects are not counted in the transaction that erases them, so the restored entities are.
    const TableRole role{spec.back, from_objects, spec.entity.has_value()};
    sides.to = std::make_unique<TableSide>(context, Selected{spec.destination, "", ""}, role);
  }
  return sides;
}

}  // namespace tidemark::workers
