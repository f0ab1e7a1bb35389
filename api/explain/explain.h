// The story of one entity key across stores, from the stores and the records of jobs: its present places, in tables and
// in archives outside of them; the job that put it there, and from which version; the places of its copies; the queued,
// running and poisoned jobs that select it; and the schedules that would take it, and when. Reads only, and a bounded
// number of messages, records, schedules, due times, places and objects: `complete` is false when a bound was reached
// or something could not be read. The effect of a finished job on an entity that its filter selected is known only as
// long as the copy that it wrote exists.
#pragma once
#include <string>
#include <vector>

#include "jobs/kinds/offload/blob_link.h"
#include "jobs/kinds/reach.h"
#include "jobs/objects/object_store.h"
#include "jobs/poison/poison.h"
#include "jobs/schedules/schedule_store.h"
#include "jobs/spec/job_queues.h"
#include "jobs/store/job_store.h"

namespace tidemark::jobs {

/// A property of the entity whose value an offload job moved to a blob.
struct LinkedBlob {
  std::string property;
  BlobLink link;
  bool present = false;  // and unchanged since the link was written
};

/// A place where the key is, or could be, because jobs or schedules move or copy it to or from there.
struct EntityPlace {
  Location location;
  EntityKey key;  // the requested key, or that of a copy
  bool present = false;
  table_store::Version version = 0;                    // in a table: the entity's Timestamp
  std::optional<table_store::Version> source_version;  // a copy: the version of its original
  std::string job;                                     // a copy: the job that wrote it, until somebody else writes it
  std::optional<JobRecord> record;                     // the record of that job, while it is kept
  std::vector<LinkedBlob> blobs;                       // in a table
  // For archives outside of tables:
  std::vector<std::string> objects;    // documents or parts that hold the key
  std::vector<std::string> may_be_in;  // parts that were not read; only the first ones
  std::string problem;                 // why something here could not be read
};

enum class Relation : std::uint8_t {
  kWouldTake = 1,  // has not ended, and selects the entity in its present state
  kGaveUp = 2,     // poisoned; would take it if it were sent back
  kNamed = 3,      // has ended, and concerned only this key
};

struct EntityJob {
  JobRecord record;
  Relation relation = Relation::kWouldTake;
  Location from;  // where it finds the entity
};

/// The first of the next due times at which a schedule's job would select the entity in its present state.
struct EntitySchedule {
  std::string name;
  std::string kind;
  Location from;
  Time due{};
};

struct Explanation {
  std::vector<EntityPlace> places;  // the requested place first
  std::vector<EntityJob> jobs;      // newest first within each relation
  std::vector<EntitySchedule> schedules;
  std::uint64_t looked_at_jobs = 0;
  std::uint64_t looked_at_schedules = 0;
  bool complete = true;
};

/// The references must outlive the call.
struct ExplainSources {
  JobStore& jobs;
  PoisonStore& poison;
  ScheduleStore& schedules;
  queue_service::QueueClient& queues;
  table_store::TableClient& tables;
  /// The queues in which jobs wait.
  std::vector<std::string> job_queues{std::string(kHighQueue), std::string(kJobQueue), std::string(kLowQueue)};
};

/// `access`: without it, only the tables' knowledge of containers and directories is used.
Task<Result<Explanation>> explain(ExplainSources sources, ObjectAccess access, Clock& clock, std::string table,
                                  EntityKey key);

}  // namespace tidemark::jobs
