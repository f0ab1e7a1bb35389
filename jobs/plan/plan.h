// The plan of a job: what it would do if it ran now, without doing any of it. Counts what is selected up to a bound,
// looks at the first entities closely, and estimates the time from the newest jobs of the kind. Changes nothing; reads
// compete with others' like any query. Fails with the codes of the clients.
#pragma once
#include "jobs/objects/object_store.h"
#include "jobs/poison/poison.h"
#include "jobs/store/job_store.h"

namespace tidemark::jobs {

inline constexpr std::uint64_t kPlannedKeys = 100'000;
inline constexpr std::size_t kPlanSamples = 5;

struct PlanSample {
  EntityKey key;
  std::uint64_t bytes = 0;
  std::vector<std::string> steps;  // for a person
};

struct JobPlan {
  std::string kind;
  std::uint64_t keys = 0;
  std::uint64_t bytes = 0;
  bool complete = true;  // false: there may be more; keys and bytes are what was counted by a number or a time
  double seconds = 0;
  std::vector<PlanSample> samples;
  std::vector<std::string> problems;  // why it would fail now
};

/// What a plan is made from; references must outlive it.
struct PlanSources {
  JobStore& store;
  PoisonStore& poison;
  table_store::TableClient& tables;
  ObjectAccess access = {};
};

/// Of an archive that is beyond the sources' access, which the workers may reach all the same, the plan is empty and
/// not complete.
Task<Result<JobPlan>> plan_job(PlanSources sources, JobSpec spec);

/// An estimate of an entity's size on the wire.
std::size_t entity_bytes(const table_store::Entity& entity);

}  // namespace tidemark::jobs
