// What a job's code sees of the delivery it runs under. It checks before each step whether it may go on, saves where
// it is, and reports progress. Used from one strand; lives as long as the run.
#pragma once
#include <nlohmann/json.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "jobs/objects/object_access.h"
#include "jobs/store/job_store.h"
#include "workers/runtime/lease.h"
#include "workers/runtime/limit_gate.h"
#include "workers/runtime/message_story.h"

namespace tidemark::workers {

using jobs::kDone;
using jobs::kWritten;

/// How often a running job writes its progress to the record, at most.
inline constexpr Duration kProgressInterval = std::chrono::milliseconds(500);

struct JobProgress {
  std::uint64_t done = 0;
  std::uint64_t skipped = 0;
  std::optional<std::uint64_t> total;
  std::string phase;
  std::string skips;  // SkipLog::text()
};

/// Absent figures stay as the record has them.
struct JobOutcome {
  std::optional<std::uint64_t> done;
  std::optional<std::uint64_t> skipped;
  std::optional<std::uint64_t> total;
  std::optional<std::string> skips;
  std::optional<std::string> result;  // JSON, small
};

/// What a job may change at most, and how fast.
struct JobLimits {
  std::optional<std::uint64_t> max_affected;
  std::optional<std::uint32_t> max_per_second;
};

struct CallbackServices;  // workers/outbound/callback_services.h

/// The stores and the world as jobs reach them; outlives every run.
struct JobServices {
  table_store::TableClient& tables;
  queue_service::QueueClient& queues;
  jobs::JobStore& jobs;
  Clock& clock;
  Random& random;
  const CallbackServices* callbacks = nullptr;  // null: this worker sends none
  jobs::ObjectAccess objects = {};              // jobs that need what is not in it fail
};

/// Of one delivery.
struct RunIdentity {
  std::string job_id;
  std::string kind;
  std::uint64_t epoch = 0;
  std::uint32_t attempt = 0;  // the message's dequeue count
  Time submitted_at{};
  JobLimits limits;
  std::optional<std::uint64_t> total;  // that an earlier delivery found
};

class JobContext {
 public:
  JobContext(JobServices services, LimitGate& gate, std::shared_ptr<HeldLease> lease,
             std::shared_ptr<const bool> give_back, MessageStory& story, RunIdentity run)
      : tables(services.tables),
        queues(services.queues),
        jobs(services.jobs),
        clock(services.clock),
        random(services.random),
        callbacks(services.callbacks),
        objects(std::move(services.objects)),
        gate_(gate),
        lease_(std::move(lease)),
        give_back_(std::move(give_back)),
        story_(story),
        run_(std::move(run)) {}

  [[nodiscard]] const std::string& job_id() const { return run_.job_id; }
  [[nodiscard]] std::uint64_t epoch() const { return run_.epoch; }
  [[nodiscard]] std::uint32_t attempt() const { return run_.attempt; }
  [[nodiscard]] Time submitted_at() const { return run_.submitted_at; }
  [[nodiscard]] const JobLimits& limits() const { return run_.limits; }
  /// As the job's record had it when this delivery began.
  [[nodiscard]] std::optional<std::uint64_t> known_total() const { return run_.total; }
  [[nodiscard]] table_store::Fence fence(std::string count_applied_as) const {
    return {run_.job_id, run_.epoch, std::move(count_applied_as)};
  }
  [[nodiscard]] const nlohmann::json& checkpoint() const { return story_.checkpoint; }

  /// kLeaseLost: stop at once. kCancelled: the worker shuts down, or the kind is paused; the message is given back.
  [[nodiscard]] Result<void> check() const;
  /// Before `count` more changes after `done`, at these places: waits as the job's maxPerSecond and the limits of its
  /// kind, tables and partitions ask. Keep the permit while the changes are made. kMaxAffectedExceeded, and what
  /// check() says.
  Task<Result<StepPermit>> admit(std::uint64_t done, std::uint64_t count, std::vector<Place> places);
  /// Kept with the next renewal, within a second.
  void save(nlohmann::json checkpoint);
  /// Durable when it returns. kLeaseLost.
  Task<Result<void>> save_now(nlohmann::json checkpoint);
  /// Writes the progress to the record if the last time is long enough ago, or if `force`d; gives the record's version
  /// then. kFenced: cancelled, or a later delivery has the job.
  Task<Result<std::optional<table_store::Version>>> report(JobProgress progress, bool force);
  /// Tells how many things the job will have dealt with in the end.
  Task<Result<void>> report_total(std::uint64_t total);
  /// Opens the operation, does the work unless that was completed before, and closes it: the ledger as it is then.
  /// `work` is given the ledger as earlier deliveries left it.
  using Work = std::function<Task<Result<void>>(table_store::OperationLedger)>;
  Task<Result<table_store::OperationLedger>> complete(Work work);

  table_store::TableClient& tables;
  queue_service::QueueClient& queues;
  jobs::JobStore& jobs;
  Clock& clock;
  Random& random;
  const CallbackServices* callbacks;
  jobs::ObjectAccess objects;

 private:
  /// Opens the operation under this delivery's epoch, and tells what earlier ones did. Its ledger is closed if the
  /// job's work was completed before.
  Task<Result<table_store::OperationLedger>> open();
  Task<Result<table_store::OperationLedger>> close();
  /// Until then, or until check() says something.
  Task<Result<void>> wait_until(Time when);
  Time book_own(std::uint64_t count);

  LimitGate& gate_;
  std::shared_ptr<HeldLease> lease_;
  std::shared_ptr<const bool> give_back_;
  MessageStory& story_;
  RunIdentity run_;
  std::optional<Time> reported_;
  std::uint64_t done_ = 0;  // as last told to report()
  Time next_change_{};
  std::uint64_t last_step_ = 0;
};

}  // namespace tidemark::workers
