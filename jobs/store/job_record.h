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
#include "jobs/store/attempt.h"
#include "table_store/model/entity.h"

namespace tidemark::jobs {

inline constexpr std::string_view kJobTable = "TidemarkJobs";
/// The catalog of archived files (jobs/objects/file_objects.h).
inline constexpr std::string_view kFileTable = "TidemarkFiles";
/// Of indexes (indexes/store/index_store.h).
inline constexpr std::string_view kIndexTable = "TidemarkIndexes";
inline constexpr std::string_view kJobPartition = "jobs";
inline constexpr std::string_view kIdempotencyPartition = "idempotency";

// Counters in the ledger of a job's operation, raised in the transactions that do what they count.
inline constexpr std::string_view kDone = "done";        // entities that the job is done with
inline constexpr std::string_view kWritten = "written";  // copies, of jobs whose work is to write copies

/// The one that says how much a job of this kind has done.
inline std::string_view counter_of_work(std::string_view kind) { return kind == "copy" ? kWritten : kDone; }

/// The phase of a cancelled job whose worker has stopped and told how much it did (JobStore::count_cancelled).
inline constexpr const char* kStoppedPhase = "stopped";

enum class JobState : std::uint8_t { kQueued = 1, kRunning = 2, kSucceeded = 3, kPoisoned = 4, kCancelled = 5 };

std::string_view state_name(JobState state);  // "queued", "running", "succeeded", "poisoned", "cancelled"
std::optional<JobState> state_from_name(std::string_view name);
inline bool is_terminal(JobState state) {
  return state == JobState::kSucceeded || state == JobState::kPoisoned || state == JobState::kCancelled;
}

struct JobRecord {
  std::string id;
  JobState state = JobState::kQueued;
  std::string kind;                  // of kinds.h; "unknown" for a message that could not be read
  std::string spec;                  // JSON text, canonical
  std::string queue{kDefaultQueue};  // of its message, by name; before the message goes to another, that one
  std::string accounts;  // as ledger_accounts() has them, noted before the job writes there; empty: the jobs' own alone
  std::string message_id;          // the job's one message
  std::string receipt;             // of its putting, until a delivery has claimed the record
  std::uint64_t epoch = 0;         // of the last delivery that changed the record
  std::uint64_t edited_epoch = 0;  // the last delivery before its text was edited (Fence::since); 0: it never was
  std::uint32_t attempts = 0;      // since submission or the last redrive
  std::uint64_t done = 0;
  std::uint64_t done_before = 0;  // when the last delivery claimed it: what it has done since tells its rate
  std::uint64_t skipped = 0;
  std::optional<std::uint64_t> total;
  std::string phase;
  std::string error;  // of the last failed attempt
  Time submitted_at{};
  std::optional<Time> started_at;
  std::optional<Time> finished_at;
  std::string worker;
  std::optional<Time> claimed_at;  // by the last delivery
  std::vector<Attempt> history;    // oldest first
  std::string result;              // JSON: what the job found out, small
  std::string skips;               // JSON: what was skipped and why (skip_log.h)
  std::optional<Time> not_before;
  table_store::Version version = 0;  // of the entity; 0 before it was stored
};

std::vector<table_store::Property> record_properties(JobRecord record);
/// kCorruption for an entity that is not a job record.
Result<JobRecord> record_from_entity(const table_store::Entity& entity);

/// Where the job has ledgers, that which counts what is done first; "" stands for the jobs' own account.
std::vector<std::string> ledger_accounts(const JobRecord& record);

/// The queues that are always there: those of the priorities, and that of poison.
std::vector<std::string> standing_queues();
/// Those in which the message of a job may be, whatever became of it.
std::vector<std::string> possible_queues(const JobRecord& record);

/// 16 hex digits of (greatest tick - now), '-', 8 random hex digits: newest first in key order.
std::string new_job_id(Time now, Random& random);
/// For a message without a job id: as above, with the message id's digits instead of random ones.
std::string job_id_of_message(Time inserted, std::string_view message_id);
bool is_job_id(std::string_view text);

/// Whether a delivery of this epoch (0: a person, not a delivery) may move a record from `from` to `to`.
/// Ends are final; only a later delivery, which a redrive makes possible, takes a poisoned record up again.
bool transition_allowed(JobState from, std::uint64_t record_epoch, JobState to, std::uint64_t epoch);

}  // namespace tidemark::jobs
