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
  if (gate_.paused(record_.kind)) return fail(ErrorCode::kCancelled, "Jobs of this kind are paused.");
  return {};
}

Time JobContext::book_own(std::uint64_t count) {
  const auto now = clock.now();
  if (!spec_.max_per_second) return now;
  // Each change books its share of time; a change that comes before its time waits for it.
  const auto from = std::max(next_change_, now);
  next_change_ = from + Duration(std::chrono::seconds(1)) * static_cast<std::int64_t>(count) / *spec_.max_per_second;
  return from;
}

Task<Result<void>> JobContext::wait_until(Time when) {
  while (true) {
    CO_TRY(check());
    const auto now = clock.now();
    if (now >= when) co_return Result<void>{};
    // A job that waits long must still notice that it should stop.
    co_await sleep_for(clock, std::min<Duration>(when - now, kLongestNap));
    co_await gate_.refresh();
  }
}

Task<Result<StepPermit>> JobContext::admit(std::uint64_t done, std::uint64_t count, std::vector<PartitionRef> places) {
  if (spec_.max_affected && done + count > *spec_.max_affected) {
    co_return fail(ErrorCode::kMaxAffectedExceeded,
                   "After " + std::to_string(done) + " changes the job stopped: more would be more than maxAffected, " +
                       std::to_string(*spec_.max_affected) + ".");
  }
  const auto own = book_own(count);
  const auto booked = co_await gate_.book(record_.kind, places, count);
  CO_TRY(co_await wait_until(std::max(own, booked)));
  auto holder = record_.id + "/" + std::to_string(++last_step_);
  while (true) {
    auto permit = co_await gate_.permit(places, holder);
    if (permit) co_return std::move(*permit);
    CO_TRY(co_await wait_until(clock.now() + kPermitRetry));
  }
}

Task<Result<void>> JobContext::side_by_side(std::size_t count, Step step, std::size_t at_once) {
  const auto most = refused() ? std::min(at_once, most_when_refused_) : at_once;
  CO_TRY(co_await tidemark::side_by_side(clock, count, std::move(step), most));
  most_when_refused_ *= 2;
  if (most_when_refused_ > at_once) story_.refused = false;
  co_return Result<void>{};
}

void JobContext::save(nlohmann::json checkpoint) {
  story_.checkpoint = std::move(checkpoint);
  story_.advanced = record_.attempts;
  story_.effects = std::max(story_.effects, done_);
  lease_->set_annotation(story_text(story_));
}

Task<Result<void>> JobContext::save_now(nlohmann::json checkpoint) {
  story_.checkpoint = std::move(checkpoint);
  co_return co_await lease_->renew_now(story_text(story_));
}

Task<Result<std::optional<table_store::Version>>> JobContext::report(jobs::RecordChange progress, bool force) {
  done_ = progress.done.value_or(done_);
  const auto now = clock.now();
  if (!force && reported_ && now - *reported_ < kProgressInterval) co_return std::optional<table_store::Version>();
  reported_ = now;
  auto record = CO_TRY(co_await jobs.change(record_.id, record_.epoch, std::move(progress)));
  co_await gate_.refresh();
  co_return std::optional<table_store::Version>(record.version);
}

Task<Result<table_store::OperationLedger>> JobContext::open() {
  // Nothing was done before the first delivery, whose first fenced write opens the operation.
  if (record_.epoch == 1) co_return table_store::OperationLedger{};
  co_return co_await open_operation(*ledger_);
}

Task<Result<table_store::OperationLedger>> JobContext::open_operation(table_store::TableClient& tables_there) {
  auto opened =
      co_await fail_points::kOpen.around(tables_there.open_operation(record_.id, record_.epoch, record_.edited_epoch));
  if (!opened.failed_with(ErrorCode::kFenced)) co_return opened;
  auto ledger = co_await tables_there.read_operation(record_.id);
  if (ledger && !ledger->closed) co_return opened;  // a later delivery has it
  co_return ledger;
}

Task<Result<bool>> JobContext::open_in(table_store::TableClient& tables_there) {
  const auto opened = CO_TRY(co_await open_operation(tables_there));
  co_return opened.closed;
}

Task<Result<void>> JobContext::close_in(table_store::TableClient& tables_there) {
  CO_TRY(co_await fail_points::kClose.around(
      tables_there.close_operation(record_.id, record_.epoch, record_.edited_epoch)));
  co_return Result<void>{};
}

Task<Result<table_store::OperationLedger>> JobContext::complete(Work work) {
  auto ledger = co_await open();
  if (!ledger || ledger->closed) co_return ledger;
  CO_TRY(co_await work(std::move(*ledger)));
  CO_TRY(check());
  co_return co_await fail_points::kClose.around(
      ledger_->close_operation(record_.id, record_.epoch, record_.edited_epoch));
}

}  // namespace tidemark::workers
