// What a restoring job would read from an archive outside of tables: counts what is selected up to a bound, and returns
// the first entities with the objects that have them. Only reads. Older versions of a key in other parts are counted
// too.
#pragma once
#include <functional>

#include "jobs/objects/object_store.h"
#include "jobs/spec/job_spec.h"
#include "table_store/model/entity.h"

namespace tidemark::jobs {

struct ObjectsWanted {
  ObjectArchive archive;
  std::optional<EntityKey> entity;
  std::string filter;
  std::string operation;  // if given, only what this job has archived
};
/// How much of an archive is read.
struct LookBounds {
  std::uint64_t keys = 0;
  std::size_t samples = 0;
  std::uint64_t reads = 0;  // of objects; each is a request
  std::uint64_t bytes = 0;  // of objects as they are stored
};
struct FoundEntity {
  table_store::Entity entity;
  std::string object;  // that holds it
};
struct ObjectsFound {
  std::uint64_t keys = 0;
  std::uint64_t bytes = 0;
  bool complete = true;
  std::vector<FoundEntity> samples;
  std::vector<std::string> unread;  // the first of those that a bound left out
};

Task<Result<ObjectsFound>> look_into_archive(ObjectStore& objects, ObjectsWanted wanted, LookBounds bounds);

}  // namespace tidemark::jobs
