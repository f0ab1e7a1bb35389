// The story of one entity key across stores, from what they and the records of jobs know: where it is now, in tables
// and in archives outside of them, which job put it there from which version, where copies of it lie, what is queued,
// running or poisoned that selects it, and which schedule would take it when. Reads only, and a bounded number of
// messages, records, schedules, due times, places and objects: `complete` is false when a bound was met or something
// could not be read. What a finished job did to an entity that its filter selected is known only as long as the copy it
// wrote is there.
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
  bool present = false;  // as the link says
};

/// Where the key is, or could be: what jobs or schedules move or copy it to or from.
struct EntityPlace {
  Location location;
  EntityKey key;  // the one asked for, or that of a copy
  bool present = false;
  table_store::Version version = 0;                    // in a table: the entity's Timestamp
  std::optional<table_store::Version> source_version;  // a copy: the version of its original
  std::string job;                                     // a copy: the job that wrote it, until somebody else does
  std::optional<JobRecord> record;                     // of that job, while it is kept
  std::vector<LinkedBlob> blobs;                       // in a table
  // Of archives outside of tables:
  std::vector<std::string> objects;    // documents or parts that hold the key
  std::vector<std::string> may_be_in;  // parts that were not looked into; the first ones
  std::string problem;                 // why something here could not be looked at
};

enum class Relation : std::uint8_t {
  kWouldTake = 1,  // has not ended, and selects the entity as it is now
  kGaveUp = 2,     // poisoned; would take it if it were sent back
  kNamed = 3,      // has ended, and was for this key alone
};

struct EntityJob {
  JobRecord record;
  Relation relation = Relation::kWouldTake;
  Location from;  // where it finds the entity
};

/// The first due time, of the next ones, at which a schedule's job would select the entity as it is now.
struct EntitySchedule {
  std::string name;
  std::string kind;
  Location from;
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

/// References; they must outlive the call.
struct ExplainSources {
  JobStore& jobs;
  PoisonStore& poison;
  ScheduleStore& schedules;
  queue_service::QueueClient& queues;
  table_store::TableClient& tables;
  /// Where jobs wait.
  std::vector<std::string> job_queues{std::string(kHighQueue), std::string(kJobQueue), std::string(kLowQueue)};
};

/// `access`: without it, of containers and directories only what tables tell of them is known.
Task<Result<Explanation>> explain(ExplainSources sources, ObjectAccess access, Clock& clock, std::string table,
                                  EntityKey key);

}  // namespace tidemark::jobs
