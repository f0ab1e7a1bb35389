// The story of one entity key across tables, from what the stores and the records of jobs know: where it is now, which
// job put it there from which version, what is queued, running or poisoned that selects it, and which schedule would
// take it when. Reads only, and a bounded number of records, schedules, due times and tables: `complete` is false when
// a bound was met. What a finished job did to an entity that its filter selected is known only as long as the copy
// it wrote is there.
#pragma once
#include <string>
#include <vector>

#include "jobs/job_store.h"
#include "jobs/schedule_store.h"

namespace tidemark::jobs {

/// Where the key is, or could be: a table that jobs or schedules move or copy it to or from.
struct EntityPlace {
  std::string store = "table";
  std::string name;  // of the table
  EntityKey key;
  bool present = false;
  table_store::Version version = 0;                    // the entity's Timestamp
  std::optional<table_store::Version> source_version;  // a copy: the version of its original
  std::string job;                                     // a copy: the job that wrote it, until somebody else does
  std::optional<JobRecord> record;                     // of that job, while it is kept
};

enum class Relation : std::uint8_t {
  kWouldTake = 1,  // has not ended, and selects the entity as it is now
  kGaveUp = 2,     // poisoned; would take it if it were sent back
  kNamed = 3,      // has ended, and was for this key alone
};

struct EntityJob {
  JobRecord record;
  Relation relation = Relation::kWouldTake;
  std::string table;  // where it finds the entity
};

/// The first due time, of the next ones, at which a schedule's job would select the entity as it is now.
struct EntitySchedule {
  std::string name;
  std::string kind;
  std::string table;
  Time due{};
};

struct Explanation {
  std::vector<EntityPlace> places;  // the one that was asked for first
  std::vector<EntityJob> jobs;      // newest first within each relation
  std::vector<EntitySchedule> schedules;
  std::uint64_t looked_at_jobs = 0;
  std::uint64_t looked_at_schedules = 0;
  bool complete = true;
};

Task<Result<Explanation>> explain(JobStore& store, ScheduleStore& schedules, table_store::TableClient& tables,
                                  Clock& clock, std::string table, EntityKey key);

}  // namespace tidemark::jobs
