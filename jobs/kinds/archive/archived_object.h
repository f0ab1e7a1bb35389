// The entities in an object of an archive, once it is certain that the object belongs there: a job wrote it, its name
// is one of this archive's, and its contents agree with that. Objects of earlier versions do not name their archive;
// for them the name alone decides.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "jobs/kinds/archive/object_archive.h"
#include "jobs/objects/object_store.h"
#include "table_store/model/entity.h"

namespace tidemark::jobs {

/// Returns nothing if the object belongs to another archive, or no job wrote it. kCorruption for a broken part.
Result<std::optional<std::vector<table_store::Entity>>> archived_in(const ObjectArchive& archive,
                                                                    const std::string& name,
                                                                    const StoredObject& object);

/// Checks that the archive has an object of its format: kResourceNotFound, with a message that names the other format
/// if there are objects of that one; also returns the errors of ObjectStore::require().
Task<Result<void>> require_any(ObjectStore& objects, ObjectArchive archive);

}  // namespace tidemark::jobs
