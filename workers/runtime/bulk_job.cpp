#include "workers/runtime/bulk_job.h"

namespace tidemark::workers {

using nlohmann::json;
using table_store::OperationLedger;

namespace {

constexpr std::string_view kSkipped = "skipped";
/// An entity that changes whenever it is looked at is given up after so many passes over its page.
constexpr int kPasses = 10;
constexpr std::uint64_t kLongestPauseNs = 2'000'000;

}  // namespace

Task<Result<JobOutcome>> BulkJob::run() {
  const auto& saved = context_.checkpoint();
  if (saved.is_object()) {
    continuation_ = saved.value("continuation", std::string());
    skips_ = SkipLog::from_json(saved.value("skips", json::array()));
    if (!traits_.ledger_counts) done_ = saved.value("done", std::uint64_t{0});
    heard_ = saved.value("heard", done_);
  }
  JobContext::Work work = [this](OperationLedger before) { return carry_out(std::move(before)); };
  const auto ledger = CO_TRY(co_await context_.complete(std::move(work)));
  if (traits_.ledger_counts) outcome_.done = ledger.counter(kDone);
  if (traits_.entity) outcome_.skipped = ledger.counter(kSkipped);
  co_return std::move(outcome_);
}

Task<Result<void>> BulkJob::carry_out(OperationLedger before) {
  if (traits_.ledger_counts) done_ = before.counter(kDone);
  unheard_ = before.counter(kDone) - std::min(before.counter(kDone), heard_);
  skipped_before_ = before.counter(kSkipped) > 0;
  if (CO_TRY(co_await open())) co_return Result<void>{};
  // The job of a single entity finds out as it goes whether the table is there.
  if (!traits_.entity) {
    CO_TRY(co_await source_.require());
  }
  CO_TRY(co_await prepare());
  if (!traits_.entity && (traits_.total_known || context_.spec().max_affected)) {
    CO_TRY(co_await source_.begin(continuation_, done_ + skips_.count()));
  }
  CO_TRY(co_await resume(context_.checkpoint()));
  if (!settled()) {
    CO_TRY(co_await walk());
    CO_TRY(co_await account());
  }
  CO_TRY(context_.check());
  co_return co_await close();
}

Task<Result<void>> BulkJob::walk() {
  for (int passes = 1;;) {
    CO_TRY(context_.check());
    admitted_ = done_;
    clean_ = true;
    page_skips_.clear();
    auto page = CO_TRY(co_await next_page());
    for (const auto& name : page.foreign) skip(kForeign, name, "");
    CO_TRY(co_await work_on(std::move(page.entities)));
    if (!clean_) {
      if (++passes > kPasses) co_return kept_changing();
      co_await sleep_for(context_.clock, Duration(static_cast<std::int64_t>(context_.random.below(kLongestPauseNs))));
      continue;
    }
    passes = 1;
    skips_.add(page_skips_);
    if (!traits_.ledger_counts) count_unheard();
    continuation_ = std::move(page.continuation);
    if (continuation_.empty()) co_return Result<void>{};
    CO_TRY(co_await report(false));
    context_.save(checkpoint());
  }
}

/// Counts the work of an earlier delivery on the page that never reached the checkpoint: its entities are found done,
/// or are no longer selected.
void BulkJob::count_unheard() {
  did(unheard_ - std::min(unheard_, found_done_));
  heard_ += std::exchange(unheard_, 0);
  found_done_ = 0;
}

Task<Result<Page>> BulkJob::next_page() {
  if (!traits_.entity) co_return co_await read(continuation_);
  Page page;
  auto entity = CO_TRY(co_await source_.get(*traits_.entity));
  if (entity) {
    page.entities.push_back(std::move(*entity));
  } else if (done_ == 0) {
    CO_TRY(co_await missing());
  }
  co_return page;
}

Task<Result<void>> BulkJob::resume(json) { co_return Result<void>{}; }

Task<Result<void>> BulkJob::missing() {
  skip(kMissing, traits_.entity->partition_key, traits_.entity->row_key);
  co_return Result<void>{};
}

Task<Result<void>> BulkJob::make(std::vector<ChangeSet> changes) {
  co_return co_await context_.side_by_side(changes.size(),
                                           [&](std::size_t number) { return admit_and_make(changes[number]); });
}

Task<Result<void>> BulkJob::admit_and_make(ChangeSet& change) {
  const auto before = std::exchange(admitted_, admitted_ + change.count);
  const auto permit = CO_TRY(co_await context_.admit(before, change.count, std::move(change.places)));
  CO_TRY(context_.check());
  CO_TRY(co_await change.make());
  co_return co_await report(false);
}

Task<Result<void>> BulkJob::account() {
  outcome_.skipped = skips_.count();
  outcome_.skips = skips_.text();
  if (!traits_.ledger_counts) outcome_.done = done_;
  if (traits_.entity && traits_.ledger_counts && skips_.count() == 0) co_return Result<void>{};
  // The figures are in the record before the operation closes: they could not be counted again afterwards.
  CO_TRY(co_await report(true));
  if (!traits_.entity || skips_.count() == 0) co_return Result<void>{};
  CO_TRY(co_await context_.ledger().count(context_.fence(std::string(kSkipped)), 1));
  co_return Result<void>{};
}

json BulkJob::checkpoint() const {
  json out = {{"continuation", continuation_}, {"skips", skips_.to_json()}};
  if (!traits_.ledger_counts) out.update({{"done", done_}, {"heard", heard_}});
  return out;
}

Task<Result<void>> BulkJob::note(const char* name, json value, const FailStep& step, json more) {
  auto noted = checkpoint();
  noted[name] = std::move(value);
  if (more.is_object()) noted.update(more);
  return step.around(context_.save_now(std::move(noted)));
}

Task<Result<void>> BulkJob::report(bool force) {
  jobs::RecordChange progress;
  progress.done = done_;
  progress.skipped = skips_.count();
  progress.skips = skips_.text();
  progress.phase = traits_.doing;
  const auto total = traits_.total_known ? source_.total() : std::nullopt;
  // Entities that were added since are not in the count.
  if (total) progress.total = std::max(*total - std::min(*total, passed_over_), done_ + skips_.count());
  CO_TRY(co_await context_.report(std::move(progress), force));
  co_return Result<void>{};
}

std::unexpected<Error> BulkJob::kept_changing() const {
  const std::string what =
      traits_.entity ? "The entity kept changing while it was " : "Some entities kept changing while they were ";
  return fail(ErrorCode::kUpdateConditionNotSatisfied, what + std::string(traits_.changed) + ".");
}

}  // namespace tidemark::workers
