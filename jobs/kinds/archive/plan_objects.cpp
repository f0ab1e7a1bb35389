#include "jobs/kinds/archive/plan_objects.h"

#include "jobs/kinds/archive/archived_object.h"
#include "jobs/kinds/archive/object_names.h"
#include "jobs/plan/plan.h"
#include "table_store/model/filter.h"

namespace tidemark::jobs {
namespace {

using table_store::Entity;

constexpr std::size_t kMostUnread = 20;

bool is_selected(const ObjectsWanted& wanted, const table_store::Filter& filter, const Entity& entity) {
  if (!wanted.operation.empty() && entity.operation != wanted.operation) return false;
  if (!wanted.entity) return filter.matches(entity);
  return entity.partition_key == wanted.entity->partition_key && entity.row_key == wanted.entity->row_key;
}

/// Returns the text with which all names of wanted objects begin.
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
  ObjectsFound found;
  std::uint64_t reads = 0;
  std::uint64_t bytes = 0;
  std::string from;
  do {
    auto names = CO_TRY(co_await objects.list(root_of(wanted), std::move(from)));
    for (auto& name : names.names) {
      if (!is_object_name(wanted.archive, name)) continue;
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
      auto entities = archived_in(wanted.archive, name, *object);
      if (!entities || !entities->has_value()) continue;
      for (auto& entity : **entities) {
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
