// Jobs of users' own kinds, as their workers claim, keep and end them. All state is in the stores: the lease of a job
// is that of its message, and its record says which delivery has it, so any number of apis may serve one worker. Each
// step is durable before the next and may be repeated:
//   claim    message taken; record running under the delivery's epoch
//   result   record succeeded; message deleted, and the notices of the end put, in one transaction
//   error    record queued, with the attempt; message back with a delay
//   release  the same, and the delivery does not count as an attempt
//   steps    record with the steps and the result; message in the queue of the built-in workers, one of which takes the
//            steps as a transaction of the same job under its own, higher epoch, and ends the job (end_steps.h)
//   giving up: noted in the message; record poisoned; notices of the end put; message moved to the poison queue
// A crash in between leaves a message that comes back, and the next claim does the rest. Nothing is done for an epoch
// that is not that of the record. Many jobs are dealt with together, in a few calls of the stores. Coroutines resume on
// the caller's executor, which must be one strand or thread; references must outlive the calls.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "jobs/delivery/message_story.h"
#include "jobs/delivery/retry_policy.h"
#include "jobs/store/end_steps.h"
#include "jobs/store/endings.h"
#include "jobs/store/job_store.h"

namespace tidemark::jobs {

inline constexpr std::size_t kMaxResultBytes = 30'000;
inline constexpr std::size_t kMaxCheckpointBytes = 16UL << 10;
/// The most jobs that one call deals with.
inline constexpr std::size_t kMostTogether = 100;

/// A message that was taken for a worker.
struct TakenMessage {
  queue_service::Message message;
  std::string worker;
};

struct ClaimedJob {
  JobRecord record;
  JobSpec spec;
};

/// A sign of life of a worker for one of its jobs; absent members stay as they are.
struct JobBeat {
  std::string id;
  std::uint64_t epoch = 0;
  std::optional<std::uint64_t> done, total;
  std::optional<std::string> phase, checkpoint;  // the checkpoint: JSON
};
enum class BeatAnswer : std::uint8_t {
  kHeld = 1,    // the lease begins anew
  kCancel = 2,  // the job was cancelled; nothing that the worker does for it takes effect any more
  kLost = 3,    // another delivery has it, or it has ended
};
inline constexpr Names<BeatAnswer, 3> kBeatAnswers{
    {{BeatAnswer::kHeld, "held"}, {BeatAnswer::kCancel, "cancel"}, {BeatAnswer::kLost, "lost"}}};

enum class EndKind : std::uint8_t { kResult = 1, kError = 2, kRelease = 3, kSteps = 4 };

struct WorkEnd {
  std::string id;
  std::uint64_t epoch = 0;
  EndKind kind = EndKind::kResult;
  std::string result;           // JSON; empty: none
  TransactionSpec transaction;  // of kSteps, which has a result, too
  ErrorClass error_class = ErrorClass::kTransient;
  std::string message;  // of the error
  std::optional<Duration> retry_after;
};

struct WorkServices {
  JobStore& jobs;
  queue_service::QueueClient& queues;
  table_store::TableClient& tables;
  Clock& clock;
  Random& random;
};

class Work {
 public:
  explicit Work(WorkServices services)
      : services_(services), endings_(services.tables, services.queues, services.clock) {}

  /// Claims the jobs of 1..100 messages that were taken from this queue. The outcomes are in the order of the messages;
  /// nothing where there is no job to do: such a message is dealt with.
  Task<std::vector<std::optional<ClaimedJob>>> claim(std::string queue, std::vector<TakenMessage> taken);
  /// Returns the jobs with these ids that the deliveries of these epochs still have, and renews their leases.
  Task<Result<std::vector<ClaimedJob>>> claimed_before(std::vector<std::pair<std::string, std::uint64_t>> jobs,
                                                       const OwnKinds& kinds);
  /// Renews leases and notes progress; the answers are in the order of the beats.
  Task<Result<std::vector<BeatAnswer>>> beat(std::vector<JobBeat> beats, const OwnKinds& kinds);
  /// Ends jobs; the outcomes, in the order of `ends`, are their records. An end that is repeated has the outcome of the
  /// first. kJobNotFound, kFenced: another delivery has the job, kInvalidInput: it is of a built-in kind, or of a kind
  /// that takes no steps, kRequestBodyTooLarge. `kinds` is needed for ends with steps only.
  Task<std::vector<Result<JobRecord>>> end(std::vector<WorkEnd> ends, OwnKinds kinds = {});

 private:
  /// A job that a delivery holds.
  struct Held {
    queue_service::Lease lease;
    JobRecord record;
    std::optional<JobSpec> spec;
  };
  static Result<Held> held_by(const std::optional<JobRecord>& record, std::uint64_t epoch);
  Task<Result<void>> settle_odd(std::string queue, TakenMessage taken);
  Task<Result<void>> go_on_giving_up(queue_service::Lease lease, Delivery delivery, queue_service::Message message);
  Task<Result<void>> settle_refused(std::string queue, queue_service::Message message, Claim claim, JobSpec spec);
  /// Raises the epoch of the operation that the worker may use for its own writes, so that an earlier delivery cannot
  /// write any more.
  Task<Result<void>> fence_earlier(std::string job_id, std::uint64_t epoch);
  Task<void> end_results(const std::vector<WorkEnd>& ends, std::vector<std::optional<Held>>& held,
                         std::vector<Result<JobRecord>>& out);
  [[nodiscard]] RecordChange result_change(const WorkEnd& end, const JobRecord& record) const;
  Task<Result<JobRecord>> end_one(const WorkEnd& end, Held held, const OwnKinds& kinds);
  Task<Result<JobRecord>> end_running(const WorkEnd& end, Held held, const OwnKinds& kinds);
  Task<Result<JobRecord>> accept_steps(const WorkEnd& end, Held held, const OwnKinds& kinds);
  /// Moves the message of a job that has ended with steps to the built-in workers, unless one of them has it.
  /// `deliveries`: how often the message was delivered until now.
  Task<Result<JobRecord>> hand_over(queue_service::Lease lease, JobRecord record, std::uint32_t deliveries);
  Task<Result<JobRecord>> succeed_one(const WorkEnd& end, Held held);
  Task<Result<JobRecord>> fail_one(const WorkEnd& end, Held held);
  Task<Result<JobRecord>> put_back(Held held, Duration delay, bool counts, std::optional<Attempt> attempt,
                                   std::string error);
  Task<Result<JobRecord>> give_up(Held held, std::string reason, std::string code, std::optional<Attempt> last);
  Task<Result<JobRecord>> move_to_poison(Held held, PoisonRecord poison, std::optional<Attempt> last);
  /// Deletes the message of a job that is over, with the notices of its end.
  Task<Result<void>> end_message(Held held);
  Task<Result<void>> finish(const WorkEnd& end, Held held);
  [[nodiscard]] Attempt attempt_of(const JobRecord& record, std::string outcome) const;

  WorkServices services_;
  Endings endings_;
};

}  // namespace tidemark::jobs
