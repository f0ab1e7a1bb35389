// The work of a job, and its JSON. Pure: no I/O. A submission that is not valid is refused with every problem at once:
// kJobInvalid, one field "problem" per finding, and the message lists them. Members by kind (docs/jobs.md):
//   archive    source destination SELECTION
//   unarchive  source destination SELECTION                       source is the archive
//              the archive is a table's name or an object (jobs/kinds/archive/object_archive.h)
//   copy       source destination SELECTION partitionKeyTemplate? rowKeyTemplate? properties?
//   delete     source SELECTION | source wholeTable
//   index      source property destination
//   undo       job
//   offload    source SELECTION container prefix? properties? minBytes?      at least one of the last two
//   inline     source SELECTION properties? keepBlobs?
//   redrive    POISON canary?
//   purge      POISON
//   callback   url method? headers? body? timeoutMs? secret?
//   rekey      source entity|filter partitionKey? rowKey? set?               at least one of the keys, which are templates
//   merge      source SELECTION set
//   discard    source SELECTION property container
//   orphans    source property container prefix? graceHours? remove?
//   transaction  values? guards? steps
//   apply      source SELECTION rule
//   KIND       version? input?                           a kind that users have declared (own_kinds.h)
// POISON is poisonQueue? poisonIds? poisonKind? poisonSource? fingerprint? movedAfter? movedBefore? perSecond? limit?
// SELECTION is partitionKey and rowKey for one entity, or filter ("" is every entity). Optional in each kind:
// maxAttempts idempotencyKey priority queue key notBefore retryBaseMs retryCapMs keepHours onEnd then traceparent
// tracestate; where entities are selected: maxAffected maxPerSecond. A message on the queue is the same with "jobId"
// added; a message written by any SDK may leave it out.
#pragma once
#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "common/base/time.h"
#include "common/base/trace_context.h"
#include "jobs/kinds/kinds.h"
#include "jobs/spec/cause.h"
#include "jobs/spec/job_queues.h"
#include "jobs/spec/on_end.h"
#include "jobs/spec/own_kinds.h"

namespace tidemark::jobs {

struct Member;

inline constexpr std::uint32_t kDefaultMaxAttempts = 5;
inline constexpr std::uint32_t kMaxAttemptsLimit = 100;
inline constexpr std::size_t kMaxIdempotencyKeyLength = 256;
inline constexpr std::size_t kMaxJobKeyBytes = 128;
/// A record must live longer than every lease of its job.
inline constexpr auto kLongestRetry = std::chrono::hours(24);  // for retryBaseMs and retryCapMs
inline constexpr std::uint32_t kMinKeepHours = 2;
inline constexpr std::uint32_t kMaxKeepHours = 87'600;
/// A submission fits into a queue message (64 KiB) with its job id, and into a property of the record, together with
/// everything that is added on the way: group, after, the key of a schedule, the queues of undone jobs, the cause, the
/// trace.
inline constexpr std::size_t kMaxSpecBytes = 30'000;
inline constexpr std::size_t kMaxMessageSpecBytes = kMaxSpecBytes + 1'500;  // without the trace
/// The largest number of jobs that follow the first.
inline constexpr int kMostFollowing = 5;

enum class Priority : std::uint8_t { kHigh = 1, kNormal = 2, kLow = 3 };
std::string_view priority_name(Priority priority);  // "high", "normal", "low"

struct JobSpec {
  JobWork work;
  std::uint32_t max_attempts = kDefaultMaxAttempts;
  std::string idempotency_key;  // empty: none
  Priority priority = Priority::kNormal;
  std::string queue;  // a name given by a user, or "default"; empty: not set (job_queues.h)
  std::string key;    // jobs take turns by it; empty: none
  std::optional<Time> not_before;
  /// The back-off of this job, instead of the worker's settings.
  std::optional<std::uint32_t> retry_base_ms;
  std::optional<std::uint32_t> retry_cap_ms;
  std::optional<std::uint32_t> keep_hours;  // how long the record stays after the end, instead of the workers' setting
  std::optional<std::uint64_t> max_affected;
  std::optional<std::uint32_t> max_per_second;  // entities
  std::optional<CallbackEndpoint> on_end;       // called when the job has ended
  std::string then;                             // canonical text of the job that follows a success; empty: none
  std::optional<GroupMember> group;             // in messages only: members are made by submitting a group
  std::string after;                            // likewise: the job that this one follows
  std::optional<Cause> cause;                   // likewise: the rule that has made it
  TraceContext trace;                           // the trace of the submission: jobs/spec/job_trace.h
  bool operator==(const JobSpec&) const = default;
};

std::string_view kind_name(const JobSpec& spec);
/// Returns the chain of rules that the job comes from (Fence::cause); empty: no rule has made it.
inline std::string chain_of(const JobSpec& spec) { return spec.cause ? spec.cause->chain : std::string(); }
/// Tells whether the job, as poison, holds up those behind it in its lane.
inline bool holds_lane(const JobSpec& spec) { return spec.cause && spec.cause->holds && !spec.cause->lane.empty(); }
/// Tells whether a failure cancels the job instead of making it poison.
bool is_never_poison(const JobSpec& spec);
/// Returns the tables that the spec names, without repetitions.
std::vector<std::string> tables_of(const JobSpec& spec);

/// Returns the description of the members that every job has besides its kind.
std::vector<Member> members_of_every_job();
/// Returns those that kinds have in addition which select entities.
std::vector<Member> members_of_selecting_jobs();

/// Reads and validates a submission. `own`: the kinds that users have declared. kJobInvalid.
Result<JobSpec> parse_job_spec(std::string_view json_text, const OwnKinds& own = {});
/// Reads a text that was made from a submission: it may also have the group of the job, and be longer by it.
Result<JobSpec> parse_stored_spec(std::string_view text);
/// Reads a submission. Here, and in messages and stored texts, a job with a version may be of any kind that users could
/// have declared.
Result<JobSpec> job_spec_from_json(const nlohmann::json& json);
/// Many jobs that are submitted together. With a group, they are counted together and one callback reports their end.
struct JobBatch {
  std::vector<JobSpec> specs;
  std::string group;  // empty: none
  std::optional<CallbackEndpoint> on_end;
};
/// {"jobs":[...],"group"?:ID,"onEnd"?:{...}}, 1..1000 jobs. The problems of all jobs are listed, each with its place:
/// "jobs[3]: ...".
Result<JobBatch> parse_job_batch(std::string_view json_text, const OwnKinds& own = {});
/// Returns the SHA-256 of the whole batch in hex.
std::string batch_fingerprint(const JobBatch& batch);
nlohmann::json to_json(const JobSpec& spec);
/// Returns the canonical text of a spec, with the members in a fixed order and the defaults that matter.
std::string canonical_text(const JobSpec& spec);
/// Returns the SHA-256 in hex of the canonical text without the idempotency key and the trace.
std::string spec_fingerprint(const JobSpec& spec);

struct JobMessage {
  std::string job_id;  // empty if the message has none
  JobSpec spec;
};
std::string job_message_text(std::string_view job_id, const JobSpec& spec);
/// Accepts the JSON as it is or in Base64, as some SDKs write it. kJobInvalid.
Result<JobMessage> parse_job_message(std::string_view text);
/// Returns the job id in a message that need not be a valid job; empty if it names none.
std::string job_id_in(std::string_view text);

/// Checks for 3..63 letters and digits, beginning with a letter.
bool is_table_name(std::string_view name);
/// Tells whether the table holds Tidemark's own records, whose rules only its own operations keep.
bool is_own_table(std::string_view name);

}  // namespace tidemark::jobs
