#include "workers/runtime/job_context.h"

#include "workers/runtime/fail_points.h"

namespace tidemark::workers {

Result<void> JobContext::check() const {
  if (lease_->lost()) return fail(ErrorCode::kLeaseLost);
  if (*give_back_) return fail(ErrorCode::kCancelled, "The worker is shutting down.");
  if (gate_.paused(run_.kind)) return fail(ErrorCode::kCancelled, "Jobs of this kind are paused.");
  return {};
}

Task<Result<void>> JobContext::admit(std::uint64_t done, std::uint64_t count) {
  if (run_.limits.max_affected && done + count > *run_.limits.max_affected) {
    co_return fail(ErrorCode::kMaxAffectedExceeded,
                   "After " + std::to_string(done) + " changes the job stopped: more would be more than maxAffected, " +
                       std::to_string(*run_.limits.max_affected) + ".");
  }
  if (!run_.limits.max_per_second) co_return Result<void>{};
  // Each change books its share of time; whoever comes before that time waits for it.
  const auto now = clock.now();
  next_change_ = std::max(next_change_, now);
  const auto wait = next_change_ - now;
  next_change_ += Duration(std::chrono::seconds(1)) * static_cast<std::int64_t>(count) / *run_.limits.max_per_second;
  if (wait > Duration::zero()) {
    auto nap = sleep_for(clock, wait);
    co_await std::move(nap);
  }
  co_return check();
}

void JobContext::save(nlohmann::json checkpoint) {
  story_.checkpoint = std::move(checkpoint);
  lease_->set_annotation(story_text(story_));
}

Task<Result<void>> JobContext::save_now(nlohmann::json checkpoint) {
  story_.checkpoint = std::move(checkpoint);
  auto task = lease_->renew_now(story_text(story_));
  auto saved = co_await std::move(task);
  co_return saved;
}

Task<Result<std::optional<table_store::Version>>> JobContext::report(JobProgress progress, bool force) {
  const auto now = clock.now();
  if (!force && reported_ && now - *reported_ < kProgressInterval) co_return std::optional<table_store::Version>();
  reported_ = now;
  jobs::RecordChange change;
  change.done = progress.done;
  change.skipped = progress.skipped;
  change.total = progress.total ? progress.total : total_;
  change.phase = std::move(progress.phase);
  change.skips = std::move(progress.skips);
  auto task = jobs.change(run_.job_id, run_.epoch, std::move(change));
  auto record = co_await std::move(task);
  if (!record) co_return fail(std::move(record.error()));
  auto refresh = gate_.refresh();
  co_await std::move(refresh);
  co_return std::optional<table_store::Version>(record->version);
}

Task<Result<table_store::OperationLedger>> JobContext::open() {
  // Nobody was here before the first delivery, and its first fenced write opens the operation.
  if (run_.epoch == 1) co_return table_store::OperationLedger{};
  fail_points::kOpen.before.reach();
  auto open_task = tables.open_operation(run_.job_id, run_.epoch);
  auto opened = co_await std::move(open_task);
  fail_points::kOpen.after.reach();
  if (!opened.failed_with(ErrorCode::kFenced)) co_return opened;
  auto read_task = tables.read_operation(run_.job_id);
  auto ledger = co_await std::move(read_task);
  if (ledger && !ledger->closed) co_return opened;  // a later delivery has it
  co_return ledger;
}

Task<Result<table_store::OperationLedger>> JobContext::close() {
  fail_points::kClose.before.reach();
  auto task = tables.close_operation(run_.job_id, run_.epoch);
  auto closed = co_await std::move(task);
  fail_points::kClose.after.reach();
  co_return closed;
}

}  // namespace tidemark::workers
