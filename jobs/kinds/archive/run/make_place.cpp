#include "jobs/kinds/archive/run/make_place.h"

#include "jobs/kinds/archive/run/document_place.h"
#include "jobs/kinds/archive/run/part_place.h"
#include "jobs/kinds/archive/run/table_place.h"

namespace tidemark::workers {
namespace {

Result<std::unique_ptr<Side>> make_object_place(JobContext& context, const jobs::ObjectArchive& archive,
                                                PlaceSelection selection) {
  auto filter = TRY(table_store::Filter::parse(selection.filter));
  auto store = TRY(jobs::open_archive(context.objects, context.tables, archive));
  if (archive.format == jobs::ArchiveFormat::kLines) {
    return std::make_unique<PartPlace>(context, std::move(store), archive, std::move(selection), std::move(filter));
  }
  return std::make_unique<DocumentPlace>(context, std::move(store), archive, std::move(selection), std::move(filter));
}

}  // namespace

Result<Sides> make_sides(JobContext& context, const MoveSpec& spec) {
  const PlaceSelection selection{spec.filter.value_or(""), spec.operation};
  const bool from_objects = spec.archive && spec.back;
  Sides sides;
  if (from_objects) {
    sides.from = TRY(make_object_place(context, *spec.archive, selection));
  } else {
    TableSide side{spec.source, spec.back};
    sides.from = std::make_unique<TablePlace>(context, std::move(side), selection);
  }
  if (spec.archive && !spec.back) {
    sides.to = TRY(make_object_place(context, *spec.archive, {}));
  } else {
    // Objects are not counted in the transaction that erases them, so the restored entities are.
    TableSide side{spec.destination, spec.back, from_objects, spec.entity.has_value()};
    sides.to = std::make_unique<TablePlace>(context, std::move(side), PlaceSelection{});
  }
  return sides;
}

}  // namespace tidemark::workers
