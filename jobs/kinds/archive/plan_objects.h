// Plans a restoring job: counts the entities that it would read from an archive outside of tables, up to a bound, and
// returns the first ones with the objects that have them. Only reads. Counts older versions of a key in other parts
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
  std::string operation;  // if given, only entities that this job has archived
};
/// The bounds on the part of an archive that is read.
struct LookBounds {
  std::uint64_t keys = 0;
  std::size_t samples = 0;
  std::uint64_t reads = 0;  // the number of objects read; each is a request
  std::uint64_t bytes = 0;  // the bytes of the objects as they are stored
};
struct FoundEntity {
  table_store::Entity entity;
  std::string object;  // the object that holds it
};
struct ObjectsFound {
  std::uint64_t keys = 0;
  std::uint64_t bytes = 0;
  bool complete = true;
  std::vector<FoundEntity> samples;
  std::vector<std::string> unread;  // the first objects that a bound left out
};

Task<Result<ObjectsFound>> look_into_archive(ObjectStore& objects, ObjectsWanted wanted, LookBounds bounds);

}  // namespace tidemark::jobs
