// The schemas of jobs in api/rest/openapi.json, made from the description of their members; scripts/describe-api
// writes them there. A job of kind archive is an ArchiveSpec: the members of every job (JobMembers), those of kinds
// that select entities (SelectingJobMembers), its own, and no others. Pure.
#pragma once
#include <nlohmann/json_fwd.hpp>

namespace tidemark::jobs {

/// Returns the schemas by name, in the order of the document.
nlohmann::ordered_json job_schemas();

}  // namespace tidemark::jobs
