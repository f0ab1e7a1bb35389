#include "workers/runtime/job_context.h"

#include "workers/runtime/fail_points.h"

namespace tidemark::workers {
namespace {

constexpr Duration kLongestNap = std::chrono::milliseconds(500);
constexpr Duration kPermitRetry = std::chrono::milliseconds(50);

}  // namespace

Result<void> JobContext::check() const {
  if (lease_->lost()) return fail(ErrorCode::kLeaseLost);
  if (*give_back_) return fail(ErrorCode::kCancelled, "The worker is shutting down.");
  if (gate_.paused(run_.kind)) return fail(ErrorCode::kCancelled, "Jobs of this kind are paused.");
  return {};
}

Time JobContext::book_own(std::uint64_t count) {
  const auto now = clock.now();
  if (!run_.limits.max_per_second) return now;
  // Each change books its share of time; whoever comes before that time waits for it.
  const auto from = std::max(next_change_, now);
  next_change_ =
      from + Duration(std::chrono::seconds(1)) * static_cast<std::int64_t>(count) / *run_.limits.max_per_second;
  return from;
}

Task<Result<void>> JobContext::wait_until(Time when) {
  while (true) {
    auto going = check();
    if (!going) co_return going;
    const auto now = clock.now();
    if (now >= when) co_return going;
    // A job that waits long still hears that it is to stop.
    auto nap = sleep_for(clock, std::min<Duration>(when - now, kLongestNap));
    co_await std::move(nap);
    auto refresh = gate_.refresh();
    co_await std::move(refresh);
  }
}

Task<Result<void>> JobContext::admit(std::uint64_t done, std::uint64_t count) {
  std::vector<Place> places;
  for (const auto& table : run_.tables) places.push_back({table, std::nullopt});
  auto task = admit(done, count, std::move(places));
  auto admitted = co_await std::move(task);
  if (!admitted) co_return fail(std::move(admitted.error()));
  co_return Result<void>{};
}

Task<Result<StepPermit>> JobContext::admit(std::uint64_t done, std::uint64_t count, std::vector<Place> places) {
  if (run_.limits.max_affected && done + count > *run_.limits.max_affected) {
    co_return fail(ErrorCode::kMaxAffectedExceeded,
                   "After " + std::to_string(done) + " changes the job stopped: more would be more than maxAffected, " +
                       std::to_string(*run_.limits.max_affected) + ".");
  }
  const auto own = book_own(count);
  auto book_task = gate_.book(run_.kind, places, count);
  const auto booked = co_await std::move(book_task);
  auto wait_task = wait_until(std::max(own, booked));
  auto waited = co_await std::move(wait_task);
  if (!waited) co_return fail(std::move(waited.error()));
  auto holder = run_.job_id + "/" + std::to_string(++last_step_);
  while (true) {
    auto permit_task = gate_.permit(places, holder);
    auto permit = co_await std::move(permit_task);
    if (permit) co_return std::move(*permit);
    auto retry_task = wait_until(clock.now() + kPermitRetry);
    auto retried = co_await std::move(retry_task);
    if (!retried) co_return fail(std::move(retried.error()));
  }
}

void JobContext::save(nlohmann::json checkpoint) {
  story_.checkpoint = std::move(checkpoint);
  story_.advanced = run_.attempt;
  story_.effects = std::max(story_.effects, done_);
  lease_->set_annotation(story_text(story_));
}

Task<Result<void>> JobContext::save_now(nlohmann::json checkpoint) {
  story_.checkpoint = std::move(checkpoint);
  auto task = lease_->renew_now(story_text(story_));
  auto saved = co_await std::move(task);
  co_return saved;
}

Task<Result<std::optional<table_store::Version>>> JobContext::report(JobProgress progress, bool force) {
  done_ = progress.done;
  const auto now = clock.now();
  if (!force && reported_ && now - *reported_ < kProgressInterval) co_return std::optional<table_store::Version>();
  reported_ = now;
  jobs::RecordChange change;
  change.done = progress.done;
  change.skipped = progress.skipped;
  change.total = progress.total;
  change.phase = std::move(progress.phase);
  change.skips = std::move(progress.skips);
  auto task = jobs.change(run_.job_id, run_.epoch, std::move(change));
  auto record = co_await std::move(task);
  if (!record) co_return fail(std::move(record.error()));
  auto refresh = gate_.refresh();
  co_await std::move(refresh);
  co_return std::optional<table_store::Version>(record->version);
}

Task<Result<void>> JobContext::report_total(std::uint64_t total) {
  jobs::RecordChange change;
  change.total = total;
  auto task = jobs.change(run_.job_id, run_.epoch, std::move(change));
  auto record = co_await std::move(task);
  if (!record) co_return fail(std::move(record.error()));
  co_return Result<void>{};
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

Task<Result<table_store::OperationLedger>> JobContext::complete(Work work) {
  auto open_task = open();
  auto ledger = co_await std::move(open_task);
  if (!ledger || ledger->closed) co_return ledger;
  auto work_task = work(std::move(*ledger));
  auto worked = co_await std::move(work_task);
  if (!worked) co_return fail(std::move(worked.error()));
  auto going = check();
  if (!going) co_return fail(std::move(going.error()));
  auto close_task = close();
  auto closed = co_await std::move(close_task);
  co_return closed;
}

}  // namespace tidemark::workers
