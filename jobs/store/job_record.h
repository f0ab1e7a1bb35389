// The record of a job: an entity of table TidemarkJobs (PartitionKey 'jobs', RowKey job id) that any SDK can query.
// Pure: conversions and the rules of its states; job_store.h does the I/O.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "common/base/random.h"
#include "common/base/time.h"
#include "jobs/spec/job_queues.h"
#include "jobs/spec/job_spec.h"
#include "jobs/spec/names.h"
#include "jobs/store/attempt.h"
#include "table_store/model/entity.h"

namespace tidemark::jobs {

inline constexpr std::string_view kJobTable = "TidemarkJobs";
/// The catalog of archived files (jobs/objects/file_objects.h).
inline constexpr std::string_view kFileTable = "TidemarkFiles";
/// The table of indexes (indexes/store/index_store.h).
inline constexpr std::string_view kIndexTable = "TidemarkIndexes";
inline constexpr std::string_view kJobPartition = "jobs";
inline constexpr std::string_view kIdempotencyPartition = "idempotency";

// Counters in the ledger of a job's operation. The transactions that do the counted work raise them.
inline constexpr std::string_view kDone = "done";        // the entities that the job has dealt with
inline constexpr std::string_view kWritten = "written";  // copies, of jobs whose work is to write copies

/// Returns the counter that tells how much a job of this kind has done.
inline std::string_view counter_of_work(std::string_view kind) { return kind == "copy" ? kWritten : kDone; }

/// The phase of a cancelled job whose worker has stopped and reported how much it did (JobStore::count_cancelled).
inline constexpr const char* kStoppedPhase = "stopped";
/// The phase of a job that its worker has ended with steps, until they have been taken.
inline constexpr const char* kStepsPhase = "steps";

enum class JobState : std::uint8_t { kQueued = 1, kRunning = 2, kSucceeded = 3, kPoisoned = 4, kCancelled = 5 };

inline constexpr Names<JobState, 5> kJobStates{{{JobState::kQueued, "queued"},
                                                {JobState::kRunning, "running"},
                                                {JobState::kSucceeded, "succeeded"},
                                                {JobState::kPoisoned, "poisoned"},
                                                {JobState::kCancelled, "cancelled"}}};
std::string_view state_name(JobState state);
std::optional<JobState> state_from_name(std::string_view name);
/// Tells whether nobody needs the job's message any more; that of a poisoned job may be sent back.
inline bool is_over(JobState state) { return state == JobState::kSucceeded || state == JobState::kCancelled; }
inline bool is_terminal(JobState state) {
  return state == JobState::kSucceeded || state == JobState::kPoisoned || state == JobState::kCancelled;
}

struct JobRecord {
  std::string id;
  JobState state = JobState::kQueued;
  std::string kind;                  // one of kinds.h; "unknown" for a message that could not be read
  std::string spec;                  // JSON text, canonical
  std::string queue{kDefaultQueue};  // the queue of its message, by name; set before the message moves to another
  std::string accounts;     // those of ledger_accounts(), set before the job writes there; empty: only the jobs' own
  std::string message_id;   // the job's one message
  std::string receipt;      // the receipt of its put, until a delivery has claimed the record
  std::uint64_t epoch = 0;  // the last delivery that changed the record
  std::uint64_t edited_epoch = 0;  // the last delivery before its text was edited (Fence::since); 0: it never was
  std::uint32_t attempts = 0;      // since submission or the last redrive
  std::uint64_t done = 0;
  std::uint64_t done_before = 0;  // `done` when the last delivery claimed it; the difference gives its rate
  std::uint64_t skipped = 0;
  std::optional<std::uint64_t> total;
  std::string phase;
  std::string error;  // the error of the last failed attempt
  Time submitted_at{};
  std::optional<Time> started_at;
  std::optional<Time> finished_at;
  std::string worker;
  std::optional<Time> claimed_at;  // by the last delivery
  std::vector<Attempt> history;    // oldest first
  std::string result;              // JSON: the findings of the job, small
  std::string checkpoint;          // JSON: the position that a worker of a user's own saved
  std::string part;                // the part of a spread queue that such a job was last taken from
  std::string end_steps;           // JSON: the end with steps that such a worker has given it (end_steps.h)
  std::uint64_t end_epoch = 0;     // the delivery of that worker; 0: there was no such end
  std::string skips;               // JSON: the skipped entities and the reasons (workers/runtime/skip_log.h)
  std::optional<Time> not_before;
  table_store::Version version = 0;  // of the entity; 0 before it was stored
};

std::vector<table_store::Property> record_properties(JobRecord record);
/// kCorruption for an entity that is not a job record.
Result<JobRecord> record_from_entity(const table_store::Entity& entity);

/// Returns the accounts in which the job has ledgers, that of its work counter first; "" is the jobs' own account.
std::vector<std::string> ledger_accounts(const JobRecord& record);

/// Returns the queues that always exist: those of the priorities, and the poison queue.
std::vector<std::string> standing_queues();
/// Returns the queues in which the message of a job may be, whatever happened to the job.
std::vector<std::string> possible_queues(const JobRecord& record);

/// Returns 16 hex digits of (greatest tick - now), '-', 8 random hex digits: newest first in key order.
std::string new_job_id(Time now, Random& random);
/// For a message without a job id: as above, with the message id's digits instead of random ones.
std::string job_id_of_message(Time inserted, std::string_view message_id);
bool is_job_id(std::string_view text);

/// Tells whether a delivery of this epoch (0: a person, not a delivery) may move a record from `from` to `to`. Ends are
/// final; only a later delivery, after a redrive, takes over a poisoned record.
bool transition_allowed(JobState from, std::uint64_t record_epoch, JobState to, std::uint64_t epoch);

}  // namespace tidemark::jobs
