// What a restoring job would read from an archive outside of tables: counts what is selected up to a bound and hands
// out the first entities. Reads only. Older versions of a key that are in other parts are counted as well.
#pragma once
#include <functional>

#include "jobs/archive/object_store.h"
#include "jobs/job_spec.h"
#include "table_store/model/entity.h"

namespace tidemark::jobs {

struct ObjectsWanted {
  ObjectArchive archive;
  std::optional<EntityKey> entity;
  std::string filter;
  std::string operation;  // if given: only what this job archived
};
struct ObjectsFound {
  std::uint64_t keys = 0;
  std::uint64_t bytes = 0;
  bool complete = true;
  std::vector<table_store::Entity> samples;
};

Task<Result<ObjectsFound>> look_into_archive(ObjectStore& objects, ObjectsWanted wanted, std::uint64_t most_keys,
                                             std::size_t most_samples);

}  // namespace tidemark::jobs
