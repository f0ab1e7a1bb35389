#include "jobs/kinds/archive/archived_object.h"

#include "jobs/kinds/archive/archive_text.h"
#include "jobs/kinds/archive/object_names.h"
#include "table_store/odata/entity_text.h"

namespace tidemark::jobs {
namespace {

using Entities = std::optional<std::vector<table_store::Entity>>;

bool belongs(const ObjectArchive& archive, const std::string& named) {
  return named.empty() || named == archive_root(archive);
}

Entities document_in(const ObjectArchive& archive, const std::string& name, const StoredObject& object) {
  std::string named;
  auto entity = table_store::parse_entity_text(object.bytes, &named);
  // A document that was copied to another name is no archived entity: it could not be removed once restored.
  const bool ours = entity && entity->version == *object.version && belongs(archive, named) &&
                    document_name(archive, entity->partition_key, entity->row_key) == name;
  if (!ours) return std::nullopt;
  std::vector<table_store::Entity> one;
  one.push_back(std::move(*entity));
  return one;
}

}  // namespace

Result<Entities> archived_in(const ObjectArchive& archive, const std::string& name, const StoredObject& object) {
  if (!object.version || !is_object_name(archive, name)) return Entities();
  if (archive.format == ArchiveFormat::kEntity) return document_in(archive, name, object);
  auto part = parse_part_text(object.bytes);
  if (!part) {
    part.error().message = "The archived part '" + name + "' is broken: " + part.error().detail + ".";
    return fail(std::move(part.error()));
  }
  return belongs(archive, part->archive) ? Entities(std::move(part->entities)) : Entities();
}

Task<Result<void>> require_any(ObjectStore& objects, ObjectArchive archive) {
  CO_TRY(co_await objects.require());
  auto other = archive;
  const bool lines = archive.format == ArchiveFormat::kLines;
  other.format = lines ? ArchiveFormat::kEntity : ArchiveFormat::kLines;
  bool has_other = false;
  std::string from;
  do {
    auto names = CO_TRY(co_await objects.list(archive_root(archive), std::move(from)));
    for (const auto& name : names.names) {
      if (is_object_name(archive, name)) co_return Result<void>{};
      has_other = has_other || is_object_name(other, name);
    }
    from = std::move(names.next);
  } while (!from.empty());
  auto message = std::string(lines ? "There are no parts of table '" : "There are no documents of table '") +
                 archive.table + "' in " + text_of(archive) + ".";
  if (has_other) message += lines ? " There are documents: format entity." : " There are parts: format lines.";
  co_return fail(ErrorCode::kResourceNotFound, std::move(message));
}

}  // namespace tidemark::jobs
