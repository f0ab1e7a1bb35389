#include "workers/runtime/job_context.h"

#include "workers/runtime/fail_points.h"

namespace tidemark::workers {

Result<void> JobContext::check() const {
  if (lease_->lost()) return fail(ErrorCode::kLeaseLost);
  if (*give_back_) return fail(ErrorCode::kCancelled, "The worker is shutting down.");
  return {};
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
  change.total = progress.total;
  change.phase = std::move(progress.phase);
  auto task = jobs_.change(job_id_, epoch_, std::move(change));
  auto record = co_await std::move(task);
  if (!record) co_return fail(std::move(record.error()));
  co_return std::optional<table_store::Version>(record->version);
}

Task<Result<table_store::OperationLedger>> JobContext::open() {
  fail_points::kOpen.before.reach();
  auto open_task = tables.open_operation(job_id_, epoch_);
  auto opened = co_await std::move(open_task);
  fail_points::kOpen.after.reach();
  if (!opened.failed_with(ErrorCode::kFenced)) co_return opened;
  auto read_task = tables.read_operation(job_id_);
  auto ledger = co_await std::move(read_task);
  if (ledger && !ledger->closed) co_return opened;  // a later delivery has it
  co_return ledger;
}

Task<Result<table_store::OperationLedger>> JobContext::close() {
  fail_points::kClose.before.reach();
  auto task = tables.close_operation(job_id_, epoch_);
  auto closed = co_await std::move(task);
  fail_points::kClose.after.reach();
  co_return closed;
}

}  // namespace tidemark::workers
