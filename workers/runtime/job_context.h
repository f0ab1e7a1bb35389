// What a job's code sees of the delivery it runs under. It checks before each step whether it may go on, saves where
// it is, and reports progress. Used from one strand; lives as long as the run.
#pragma once
#include <nlohmann/json.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "jobs/job_store.h"
#include "workers/runtime/lease.h"
#include "workers/runtime/message_story.h"

namespace tidemark::workers {

/// How often a running job writes its progress to the record, at most.
inline constexpr Duration kProgressInterval = std::chrono::milliseconds(500);

struct JobProgress {
  std::uint64_t done = 0;
  std::uint64_t skipped = 0;
  std::optional<std::uint64_t> total;
  std::string phase;
};

/// Absent figures stay as the record has them.
struct JobOutcome {
  std::optional<std::uint64_t> done;
  std::optional<std::uint64_t> skipped;
  std::optional<std::uint64_t> total;
};

class JobContext {
 public:
  JobContext(table_store::TableClient& tables_in, jobs::JobStore& jobs, Clock& clock_in, Random& random_in,
             std::shared_ptr<HeldLease> lease, std::shared_ptr<const bool> give_back, MessageStory& story,
             std::string job_id, std::uint64_t epoch)
      : tables(tables_in),
        clock(clock_in),
        random(random_in),
        jobs_(jobs),
        lease_(std::move(lease)),
        give_back_(std::move(give_back)),
        story_(story),
        job_id_(std::move(job_id)),
        epoch_(epoch) {}

  [[nodiscard]] const std::string& job_id() const { return job_id_; }
  [[nodiscard]] std::uint64_t epoch() const { return epoch_; }
  [[nodiscard]] table_store::Fence fence(std::string count_applied_as) const {
    return {job_id_, epoch_, std::move(count_applied_as)};
  }
  [[nodiscard]] const nlohmann::json& checkpoint() const { return story_.checkpoint; }

  /// kLeaseLost: stop at once. kCancelled: the worker shuts down; the message is given back.
  [[nodiscard]] Result<void> check() const;
  /// Kept with the next renewal.
  void save(nlohmann::json checkpoint);
  /// Durable when it returns. kLeaseLost.
  Task<Result<void>> save_now(nlohmann::json checkpoint);
  /// Writes the progress to the record if the last time is long enough ago, or if `force`d; gives the record's version
  /// then. kFenced: cancelled, or a later delivery has the job.
  Task<Result<std::optional<table_store::Version>>> report(JobProgress progress, bool force);
  /// Opens the operation under this delivery's epoch. Its ledger is closed if the job's work was completed before.
  Task<Result<table_store::OperationLedger>> open();
  Task<Result<table_store::OperationLedger>> close();

  table_store::TableClient& tables;
  Clock& clock;
  Random& random;

 private:
  jobs::JobStore& jobs_;
  std::shared_ptr<HeldLease> lease_;
  std::shared_ptr<const bool> give_back_;
  MessageStory& story_;
  std::string job_id_;
  std::uint64_t epoch_;
  std::optional<Time> reported_;
};

}  // namespace tidemark::workers
