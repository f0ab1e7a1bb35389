// The view that a job's code has of the delivery that runs it. Through it, the job checks before each step whether it
// may go on, saves its position, and reports progress. Used from one strand; lives as long as the run.
#pragma once
#include <nlohmann/json.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "common/base/side_by_side.h"
#include "jobs/objects/object_store.h"
#include "jobs/store/job_store.h"
#include "workers/runtime/lease.h"
#include "workers/runtime/limit_gate.h"
#include "workers/runtime/message_story.h"

namespace tidemark::workers {

using jobs::kDone;
using jobs::kWritten;

/// The shortest time between two reports of progress to the record.
inline constexpr Duration kProgressInterval = std::chrono::milliseconds(500);

/// The result of a job; the end of the job adds the rest.
struct JobOutcome : jobs::RecordChange {};

struct CallbackServices;  // workers/kinds/callback.h

/// The stores and the other services that jobs use; outlives every run.
struct JobServices {
  table_store::TableClient& tables;
  queue_service::QueueClient& queues;
  jobs::JobStore& jobs;
  Clock& clock;
  Random& random;
  const CallbackServices* callbacks = nullptr;  // null: this worker sends no callbacks
  jobs::ObjectAccess objects = {};  // jobs fail if they need a container, directory or account that is not in it
};

class JobContext : public JobServices {
 public:
  /// `record`: the record as this delivery has claimed it.
  JobContext(JobServices services, LimitGate& gate, std::shared_ptr<HeldLease> lease,
             std::shared_ptr<const bool> give_back, MessageStory& story, const jobs::JobRecord& record,
             const jobs::JobSpec& spec)
      : JobServices(std::move(services)),
        gate_(gate),
        lease_(std::move(lease)),
        give_back_(std::move(give_back)),
        story_(story),
        record_(record),
        spec_(spec),
        ledger_(this->jobs.tables_in(jobs::ledger_accounts(record).front())) {}

  [[nodiscard]] const std::string& job_id() const { return record_.id; }
  [[nodiscard]] std::uint64_t epoch() const { return record_.epoch; }
  /// When this delivery began.
  [[nodiscard]] const jobs::JobRecord& record() const { return record_; }
  [[nodiscard]] const jobs::JobSpec& spec() const { return spec_; }
  [[nodiscard]] table_store::Fence fence(std::string count_applied_as) const {
    return {record_.id, record_.epoch, std::move(count_applied_as), record_.edited_epoch, jobs::chain_of(spec_)};
  }
  [[nodiscard]] const nlohmann::json& checkpoint() const { return story_.checkpoint; }
  /// Tells whether the job was ever sent back from poison.
  [[nodiscard]] bool was_sent_back() const { return story_.redrives > 0; }

  /// kLeaseLost: stop at once. kCancelled: the worker shuts down or the kind is paused, and the message is given back.
  [[nodiscard]] Result<void> check() const;
  /// Call it before `count` more changes at these places, after `done`. It waits as long as the job's maxPerSecond and
  /// the limits of its kind, tables and partitions require. Keep the permit while you make the changes.
  /// kMaxAffectedExceeded, and the errors of check().
  Task<Result<StepPermit>> admit(std::uint64_t done, std::uint64_t count, std::vector<PartitionRef> places);
  /// Runs the steps of a page (side_by_side.h). After a store refused the job because it had too much to do, they run
  /// one by one at first, then twice as many at once with each page that the store takes.
  Task<Result<void>> side_by_side(std::size_t count, Step step, std::size_t at_once = kStepsAtOnce);
  /// Uncounted failures in a row before this delivery.
  [[nodiscard]] std::uint32_t stalls() const { return story_.stalls; }
  /// True while a store has too much to do for this job: optional work should be left out.
  [[nodiscard]] bool refused() const { return story_.refused; }
  /// Saves it with the next renewal, within a second.
  void save(nlohmann::json checkpoint);
  /// Saves it durably before it returns. kLeaseLost.
  Task<Result<void>> save_now(nlohmann::json checkpoint);
  /// Writes the progress to the record if the last report is long enough ago, or if `force`; returns the record's
  /// version if it did. kFenced if the job was cancelled or a later delivery has it.
  Task<Result<std::optional<table_store::Version>>> report(jobs::RecordChange progress, bool force);
  /// The tables of the account in which the job counts its done entities.
  [[nodiscard]] table_store::TableClient& ledger() const { return *ledger_; }
  /// Opens the operation in the tables of another account that the job writes into, under this delivery's epoch. True
  /// if it is closed there, because the work was completed.
  Task<Result<bool>> open_in(table_store::TableClient& tables_there);
  Task<Result<void>> close_in(table_store::TableClient& tables_there);
  /// Opens the operation, does the work unless it was completed before, and closes the operation; returns the ledger.
  /// `work` gets the ledger as earlier deliveries left it.
  using Work = std::function<Task<Result<void>>(table_store::OperationLedger)>;
  Task<Result<table_store::OperationLedger>> complete(Work work);

 private:
  /// Opens the operation under this delivery's epoch. The ledger holds the figures of earlier deliveries, and is closed
  /// if the work was completed.
  Task<Result<table_store::OperationLedger>> open();
  Task<Result<table_store::OperationLedger>> open_operation(table_store::TableClient& tables_there);
  /// Waits until `when`, or until check() fails.
  Task<Result<void>> wait_until(Time when);
  Time book_own(std::uint64_t count);

  LimitGate& gate_;
  std::shared_ptr<HeldLease> lease_;
  std::shared_ptr<const bool> give_back_;
  MessageStory& story_;
  const jobs::JobRecord& record_;
  const jobs::JobSpec& spec_;
  std::shared_ptr<table_store::TableClient> ledger_;
  std::optional<Time> reported_;
  std::uint64_t done_ = 0;  // as in the last report()
  Time next_change_{};
  std::uint64_t last_step_ = 0;
  std::size_t most_when_refused_ = 1;  // steps at once
};

/// Turns an object with run(), which does the work of a kind, into a coroutine that owns it.
template <class Work, class... Arguments>
Task<Result<JobOutcome>> run_as(JobContext& context, Arguments... arguments) {
  Work work(context, std::move(arguments)...);
  co_return co_await work.run();
}

}  // namespace tidemark::workers
