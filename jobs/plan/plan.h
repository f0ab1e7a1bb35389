// The plan of a job: its effects if it ran now, without doing any of them. Counts the selected entities up to a bound,
// looks at the first ones closely, and estimates the time from the newest jobs of the kind. Changes nothing; its reads
// compete with others like any query. Fails with the codes of the clients.
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
  std::vector<std::string> steps;  // for people
};

struct JobPlan {
  std::string kind;
  std::uint64_t keys = 0;
  std::uint64_t bytes = 0;
  bool complete = true;  // false: there may be more; keys and bytes were counted up to a limit of number or time
  double seconds = 0;
  std::vector<PlanSample> samples;
  std::vector<std::string> problems;  // the reasons why it would fail now
};

/// The sources of a plan; references must outlive it.
struct PlanSources {
  JobStore& store;
  PoisonStore& poison;
  table_store::TableClient& tables;
  ObjectAccess access = {};
};

/// If the archive is beyond the sources' access, although the workers may reach it, the plan is empty and not complete.
Task<Result<JobPlan>> plan_job(PlanSources sources, JobSpec spec);

/// Estimates an entity's size on the wire.
std::size_t entity_bytes(const table_store::Entity& entity);

}  // namespace tidemark::jobs
