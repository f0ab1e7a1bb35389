// Which jobs are no more than one move of one entity (table_store/model/move.h): archive, unarchive and delete of a
// single key between tables. A copy is not one of them: its key is made of the entity, which has to be read for that.
// Pure.
#pragma once
#include <optional>

#include "jobs/spec/job_spec.h"
#include "table_store/model/move.h"

namespace tidemark::workers {

/// Nothing if the job is more, or asks for anything beside.
std::optional<table_store::Move> small_move(const jobs::JobSpec& spec);

}  // namespace tidemark::workers
