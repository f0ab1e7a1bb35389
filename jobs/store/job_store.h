// Jobs, for the api, the workers and the simulation: submission, state changes of records, listing. All state is in the
// table store and the queue service, so any number of instances may work at once. Coroutines resume on the caller's
// executor; the references must outlive the calls. Besides the errors named below, calls fail with those of the two
// clients. If a submission with an idempotency key fails, submitting it again completes it.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "blob_store/client/blob_client.h"
#include "common/base/async.h"
#include "common/base/random.h"
#include "jobs/spec/job_spec.h"
#include "jobs/store/job_record.h"
#include "queue_service/client/queue_client.h"
#include "table_store/client/table_client.h"

namespace tidemark::jobs {

struct JobPage {
  std::vector<JobRecord> jobs;  // newest first
  std::string continuation;     // empty at the end; even an empty page may have one
  std::uint64_t searched = 0;   // the jobs that were looked at for the page
};

struct Submission {
  JobRecord job;
  bool created = false;  // false if the idempotency key already had a job
};

/// One delivery of a job's message to a worker.
struct Delivery {
  std::string job_id;
  std::string kind;
  std::string spec;  // canonical text, or the message's own text if it could not be read
  std::string message_id;
  Time message_inserted{};
  std::uint64_t epoch = 0;
  std::uint32_t attempt = 0;
  std::string worker;
  std::optional<Time> not_before;
  std::uint64_t edited_epoch = 0;
  std::vector<Attempt> story;        // the history of the message before this delivery
  std::string queue{kDefaultQueue};  // the queue of the message, or the next one, by name
  std::string part = {};             // the part of a spread queue that has the message
  bool takes_steps = false;          // the worker is a built-in one, and takes the steps of an end (end_steps.h)
};

enum class ClaimVerdict : std::uint8_t {
  kRun = 1,        // the record is running under this epoch
  kDuplicate = 2,  // another message belongs to the job; drop this one
  kEnded = 3,      // the job is over; drop the message
  kStale = 4,      // a later delivery has it; leave the message alone
  kSteps = 5,      // its worker ended it with steps; the message belongs into the queue of built-in workers
};

struct Claim {
  ClaimVerdict verdict = ClaimVerdict::kRun;
  JobRecord record;
};

/// The changes that a delivery or a person makes in a record; absent members stay as they are.
struct RecordChange {
  std::optional<JobState> state;
  std::optional<std::uint64_t> done;
  std::optional<std::uint64_t> skipped;
  std::optional<std::uint64_t> total;
  std::optional<std::uint32_t> attempts;
  std::optional<std::string> phase;
  std::optional<std::string> error;
  std::optional<std::string> skips;
  std::optional<std::string> result;
  std::optional<std::string> accounts;
  std::optional<std::string> checkpoint;
  std::optional<std::string> queue;
  std::optional<std::string> end_steps;  // from the delivery that makes the change; afterwards it makes no other
  std::optional<Attempt> attempt;        // added to the history
};

/// A change of one of several records.
struct ChangeOf {
  std::string id;
  std::uint64_t epoch = 0;
  RecordChange change;
  std::optional<JobRecord> seen;
};

class JobStore {
 public:
  /// Without `blobs`, cancel() cannot close operations in the blob store.
  JobStore(table_store::TableClient& tables, queue_service::QueueClient& queues, Clock& clock, Random& random,
           blob_store::BlobClient* blobs = nullptr)
      : tables_(tables), queues_(queues), clock_(clock), random_(random), blobs_(blobs) {}

  /// Creates the table and the queues that are missing.
  Task<Result<void>> ensure_ready();

  /// If `id` is given, the job gets it, and submitting it again gives the same job. kIdempotencyKeyReused.
  Task<Result<Submission>> submit(JobSpec spec, std::string id = {});
  /// Submits many jobs concurrently, with these ids if some are given; the outcomes are in the order of `specs`. The
  /// caller's executor must be one strand or thread.
  Task<std::vector<Result<Submission>>> submit_all(std::vector<JobSpec> specs, std::vector<std::string> ids = {});
  /// Submits jobs that belong together. The group is created first and expects all of them; if some could not be
  /// submitted, submit it again. kIdempotencyKeyReused if the group has other jobs.
  Task<Result<std::vector<Result<Submission>>>> submit_group(JobBatch batch);
  Task<Result<std::optional<JobRecord>>> find(std::string id);
  /// Finds 1..100 jobs, in the order of `ids`.
  Task<Result<std::vector<std::optional<JobRecord>>>> find_all(std::vector<std::string> ids);
  /// `limit` 1..1000; the others restrict unless they are empty. A page ends after kSearchPatience (rows.h).
  Task<Result<JobPage>> list(std::uint32_t limit, std::string continuation, std::string kind = {},
                             std::string state = {}, std::string queue = {});
  /// Ends a queued or running job, and puts the callbacks of its end. A worker that runs it stops within a page, and no
  /// write of the job takes effect once this has returned; in a blob store that is away, none once the job's message is
  /// gone. A job that has already ended is returned as it is. kJobNotFound; kTransactionDecided for a transaction that
  /// goes ahead.
  Task<Result<JobRecord>> cancel(std::string id);
  /// For workers: the same for a job that failed and must not become poison; its last attempt has the reason. kFenced
  /// if a later delivery has it.
  Task<Result<JobRecord>> stop(std::string id, std::uint64_t epoch, Attempt failed);
  /// For workers, before they drop the message of a job that is over: does the part that its cancelling could not do.
  Task<Result<void>> settle_cancelled(JobRecord record);

  /// For a worker whose job has no ledger that counts, once it has stopped because the job was cancelled: notes how
  /// much it did until then. Has no effect if the job did not end this way, or a later delivery has it.
  Task<Result<void>> count_cancelled(std::string id, std::uint64_t epoch, std::uint64_t done);

  /// For workers: returns the record of a job whose delivery has to wait, or goes to another queue; the record then
  /// names that queue. If the submission did not write the record, or there was no submission, it is created, so that
  /// the job is visible, and keeps its idempotency key, while it waits.
  Task<Result<JobRecord>> meet(Delivery delivery);
  /// For workers: claims the record for this delivery, and creates it if the submission did not get that far.
  Task<Result<Claim>> claim(Delivery delivery);
  /// Does the same for 1..100 deliveries, whose records are written together; the outcomes are in their order.
  Task<std::vector<Result<Claim>>> claim_all(std::vector<Delivery> deliveries);
  /// Changes the record by compare-and-swap of (state, epoch). Repeating a change succeeds. kFenced if a later delivery
  /// has the job or it has ended in another way. kJobNotFound. `seen` is the record as it was last read or written; if
  /// it has not changed since, it need not be read again.
  Task<Result<JobRecord>> change(std::string id, std::uint64_t epoch, RecordChange change,
                                 std::optional<JobRecord> seen = std::nullopt);
  /// Does the same for 1..100 records that were seen, which are written together; the outcomes are in their order.
  Task<std::vector<Result<JobRecord>>> change_all(std::vector<ChangeOf> changes);
  /// For workers that do all of a job's work in one transaction: returns the change of the record for it, from `found`
  /// (nothing if the submission did not get that far) to its end. Returns nothing if claim() would not let the job run,
  /// or if there was an attempt before. Pure.
  [[nodiscard]] std::optional<table_store::Companion> end_at_once(std::optional<JobRecord> found,
                                                                  const Delivery& delivery,
                                                                  const RecordChange& change) const;
  /// After a redrive: poisoned -> queued with the marks of `story`, if the record still is as in `seen`; otherwise it
  /// has no effect, since a worker was faster, whose claim brings the marks. `edited_epoch`: that of the message.
  Task<Result<void>> requeue(JobRecord seen, std::optional<JobSpec> edited, std::uint64_t edited_epoch,
                             std::vector<Attempt> story);
  /// Call it before the message goes to the queue with this name, so that a search by the record finds it there, too.
  Task<Result<JobRecord>> place(JobRecord seen, std::string queue);
  /// Tells whether the job's message is in none of the queues where it could be: nobody will carry the job out.
  Task<Result<bool>> is_gone(JobRecord seen);
  [[nodiscard]] Time now() const { return clock_.now(); }
  [[nodiscard]] Clock& clock() const { return clock_; }
  /// Returns the jobs' account, and the tables of an account; "" is the jobs' account.
  [[nodiscard]] const std::string& account() const { return tables_.account(); }
  [[nodiscard]] std::shared_ptr<table_store::TableClient> tables_in(const std::string& account) const;

 private:
  /// Decides, if the job is a transaction, that it never happens. kTransactionDecided if it is decided that it does.
  Task<Result<void>> withdraw(std::string id);
  /// Puts the message; creates the queue if it is missing.
  Task<Result<queue_service::MessageName>> put_message(std::string queue, queue_service::PutRequest message);
  /// An undo uses the queue of the job that it takes back, unless it names another.
  Task<Result<void>> choose_queue(JobSpec& spec);
  /// Registers the key for this spec; returns the id of its job, new or old.
  Task<Result<std::string>> reserve(std::string key_hash, std::string fingerprint, std::string fresh_id);
  /// Inserts the record, or returns the existing one.
  Task<Result<std::pair<JobRecord, bool>>> insert(JobRecord record);
  /// Does the rest of a cancelling, once the record says that the job is cancelled.
  Task<Result<JobRecord>> settle(JobRecord record);
  template <class Change>
  Task<Result<JobRecord>> update(std::string id, std::optional<JobRecord> seen, Change change);
  /// From now on, no write of the job takes effect in the table store, or in the blob store, whatever its epoch.
  /// Returns the ledger that counts its work.
  Task<Result<table_store::OperationLedger>> close_operation(const JobRecord& record);
  Task<Result<void>> close_blobs(const JobRecord& record, const JobSpec& spec);
  /// Inserts the record or replaces the version that was read; returns nothing if it has changed meanwhile.
  Task<Result<std::optional<JobRecord>>> write(JobRecord record);
  /// Does the same for 1..100 records of different jobs in one transaction.
  Task<Result<std::vector<std::optional<JobRecord>>>> write_all(std::vector<JobRecord> records);

  table_store::TableClient& tables_;
  queue_service::QueueClient& queues_;
  Clock& clock_;
  Random& random_;
  blob_store::BlobClient* blobs_;
};

}  // namespace tidemark::jobs
