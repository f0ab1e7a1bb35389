// What is in an object of an archive, once it has shown that it belongs there: a job wrote it, its name is one of this
// archive's, and what it says of itself agrees with that. Objects of earlier versions do not name their archive; their
// name alone says it.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "jobs/kinds/archive/object_archive.h"
#include "jobs/objects/object_store.h"
#include "table_store/model/entity.h"

namespace tidemark::jobs {

/// Nothing if the object belongs elsewhere or to somebody else. kCorruption for a broken part.
Result<std::optional<std::vector<table_store::Entity>>> archived_in(const ObjectArchive& archive,
                                                                    const std::string& name,
                                                                    const StoredObject& object);

/// Whether the archive has any object of its format: kResourceNotFound, with a message that names the other format if
/// it has objects of that one; and the errors of ObjectStore::require().
Task<Result<void>> require_any(ObjectStore& objects, ObjectArchive archive);

}  // namespace tidemark::jobs
