// The jobs of an on-change declaration whose target is a job (feeds/on_change/rule.h). A job's id is made from the
// declaration and the change, so that a change makes one job, however often it is read: by an owner that takes over, or
// after its place was lost. The record of the job stays until the place has passed the change (may_come_again). Runs on
// the owner's strand.
#pragma once
#include <optional>
#include <string>

#include "feeds/on_change/on_change_store.h"
#include "jobs/store/job_store.h"
#include "queue_service/client/queue_client.h"
#include "table_store/model/filter.h"

namespace tidemark::workers {

class RuleJobs {
 public:
  RuleJobs(jobs::JobStore& jobs, queue_service::QueueClient& queues, Clock& clock, const feeds::OnChange& on_change);

  /// Tells whether the change makes a job. kInvalidInput if the rule's own jobs have caused it too many times, or the
  /// chain of rules behind it is too long.
  [[nodiscard]] Result<bool> wants(const table_store::Filter& filter, const table_store::Change& change) const;
  /// Returns how many jobs may be made now by the limits of the rule.
  Task<Result<std::uint64_t>> room(const feeds::OnChangeProgress& progress);
  /// Returns how long the next job has to wait by perSecond, which it counts.
  Duration pause();
  /// Makes the job of a change, unless it has been made before. `change_id`: feeds::id_of().
  Task<Result<void>> submit(const table_store::Change& change, const std::string& change_id);
  /// kInvalidInput if the rule has made its jobs of this day.
  [[nodiscard]] Result<void> check_day(const feeds::OnChangeProgress& progress) const;
  /// Counts a job of this day.
  void count(feeds::OnChangeProgress& progress) const;

 private:
  [[nodiscard]] const feeds::Rule& rule() const { return *on_change_.definition.rule; }
  [[nodiscard]] feeds::RuleLimits limits() const { return rule().limits.value_or(feeds::RuleLimits{}); }
  [[nodiscard]] std::string today() const;
  [[nodiscard]] std::uint64_t made_today(const feeds::OnChangeProgress& progress) const {
    return progress.day == today() ? progress.made_today : 0;
  }

  jobs::JobStore& jobs_;
  queue_service::QueueClient& queues_;
  Clock& clock_;
  const feeds::OnChange& on_change_;
  std::string mark_;
  std::string queue_;  // of its jobs; empty: not known yet
  Time next_{};        // when the next job may be made
};

/// Tells whether the rule that has made a job may still read its change again, so that the job's record must stay.
Task<Result<bool>> may_come_again(feeds::OnChangeStore& store, jobs::Cause cause);

}  // namespace tidemark::workers
