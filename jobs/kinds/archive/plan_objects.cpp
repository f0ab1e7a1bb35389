#include "jobs/kinds/archive/plan_objects.h"

#include "jobs/kinds/archive/archive_text.h"
#include "jobs/kinds/archive/object_names.h"
#include "jobs/plan/plan.h"
#include "table_store/model/filter.h"
#include "table_store/odata/entity_text.h"

namespace tidemark::jobs {
namespace {

using table_store::Entity;

constexpr std::size_t kMostUnread = 20;

/// The entities of an object; none if it is not of a job's making.
std::vector<Entity> entities_of(const StoredObject& object, ArchiveFormat format) {
  if (!object.version) return {};
  if (format == ArchiveFormat::kLines) {
    auto entities = entities_of_part(object.bytes);
    return entities ? std::move(*entities) : std::vector<Entity>();
  }
  std::vector<Entity> one;
  auto entity = table_store::parse_entity_text(object.bytes);
  if (entity) one.push_back(std::move(*entity));
  return one;
}

bool is_selected(const ObjectsWanted& wanted, const table_store::Filter& filter, const Entity& entity) {
  if (!wanted.operation.empty() && entity.operation != wanted.operation) return false;
  if (!wanted.entity) return filter.matches(entity);
  return entity.partition_key == wanted.entity->partition_key && entity.row_key == wanted.entity->row_key;
}

/// All names that may hold what is wanted begin with this.
std::string root_of(const ObjectsWanted& wanted) {
  if (!wanted.entity) return archive_root(wanted.archive);
  const auto& key = *wanted.entity;
  if (wanted.archive.format == ArchiveFormat::kEntity) {
    return document_name(wanted.archive, key.partition_key, key.row_key);
  }
  if (wanted.archive.per == PartUnit::kPartition) {
    return archive_root(wanted.archive) + key_segment(key.partition_key) + "/";
  }
  return archive_root(wanted.archive);
}

}  // namespace

Task<Result<ObjectsFound>> look_into_archive(ObjectStore& objects, ObjectsWanted wanted, LookBounds bounds) {
  auto filter = CO_TRY(table_store::Filter::parse(wanted.filter));
  const bool lines = wanted.archive.format == ArchiveFormat::kLines;
  ObjectsFound found;
  std::uint64_t reads = 0;
  std::uint64_t bytes = 0;
  std::string from;
  do {
    auto names = CO_TRY(co_await objects.list(root_of(wanted), std::move(from)));
    for (auto& name : names.names) {
      if (lines ? !is_part_name(name) : !is_document_name(name)) continue;
      if (found.keys >= bounds.keys || reads >= bounds.reads || bytes >= bounds.bytes) {
        found.complete = false;
        found.unread.push_back(std::move(name));
        if (found.unread.size() == kMostUnread) co_return found;
        continue;
      }
      ++reads;
      auto object = CO_TRY(co_await objects.read(name));
      if (!object.has_value()) continue;
      bytes += object->bytes.size();
      for (auto& entity : entities_of(*object, wanted.archive.format)) {
        if (!is_selected(wanted, filter, entity)) continue;
        ++found.keys;
        found.bytes += entity_bytes(entity);
        if (found.samples.size() < bounds.samples) found.samples.push_back({std::move(entity), name});
      }
    }
    from = std::move(names.next);
  } while (!from.empty());
  co_return found;
}

}  // namespace tidemark::jobs
