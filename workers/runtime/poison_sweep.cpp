#include "workers/runtime/poison_sweep.h"

#include <algorithm>
#include <deque>
#include <set>

#include "common/base/side_by_side.h"
#include "workers/runtime/fail_points.h"

namespace tidemark::workers {
namespace {

using nlohmann::json;

// The number of messages that are noted at once: more at a high pace, so that the notes do not take most of the time.
constexpr std::uint32_t kSmallestBatch = 20, kLargestBatch = 100;
constexpr std::uint32_t kBatchesPerSecond = 10;
// A batch goes in this many waves per second to hold the pace; each wave waits for its time.
constexpr std::uint32_t kWavesPerSecond = 20;
constexpr std::uint32_t kPage = 200;
// Messages that were read longer ago than this are read again: they may have been edited and no longer match.
constexpr Duration kFresh = std::chrono::seconds(5);
constexpr std::int64_t kCanaryPollMs = 1000;

std::vector<std::string> texts_of(const json& object, const char* name) {
  std::vector<std::string> out;
  const auto list = object.find(name);
  if (list == object.end() || !list->is_array()) return out;
  for (const auto& item : *list) {
    if (item.is_string()) out.push_back(item.get<std::string>());
  }
  return out;
}

std::uint64_t done_in(const json& checkpoint) { return checkpoint.value("sent", std::uint64_t{0}); }

/// Tells whether the message is part of the job's work.
bool is_wanted(const jobs::PoisonSelection& which, const jobs::JobRecord& job, const jobs::PoisonRecord& record) {
  // The job ignores messages that come back to the poison queue while it runs.
  if (record.moved_at && *record.moved_at >= job.submitted_at) return false;
  if (!which.ids.empty() || !which.queue.empty()) return true;
  if (record.kind == job.kind && which.filter.kind != job.kind) return false;
  return jobs::matches(which.filter, record);
}

/// Returns the messages that an earlier delivery noted and has not dealt with.
Task<Result<std::vector<jobs::PoisonRecord>>> left_of(jobs::PoisonStore& poison, jobs::PoisonSelection which,
                                                      const jobs::JobRecord& job, std::vector<std::string> pending) {
  if (pending.empty()) co_return std::vector<jobs::PoisonRecord>();
  auto named = which;
  named.ids = std::move(pending);
  const auto count = static_cast<std::uint32_t>(named.ids.size());
  auto left = CO_TRY(co_await poison.select(count, {}, std::move(named))).records;
  std::erase_if(left, [&](const jobs::PoisonRecord& record) { return !is_wanted(which, job, record); });
  co_return left;
}

std::vector<std::string> ids_of(const std::vector<jobs::PoisonRecord>& messages) {
  std::vector<std::string> ids;
  for (const auto& message : messages) ids.push_back(message.message_id);
  return ids;
}

/// One run of such a job. Lives in run()'s frame.
class PoisonSweep {
 public:
  PoisonSweep(JobContext& context, PoisonWork work)
      : context_(context), work_(std::move(work)), poison_(context.jobs, context.queues) {}

  Task<Result<JobOutcome>> run();

 private:
  Task<Result<void>> go_through();
  /// Goes on with the messages that an earlier delivery noted.
  Task<Result<void>> resume(const json& saved);
  Task<Result<void>> await_canaries();
  /// Tells whether no queue has the job's message.
  Task<Result<bool>> is_gone(jobs::JobRecord record);
  /// Returns the next messages; none at the end.
  Task<Result<std::vector<jobs::PoisonRecord>>> next_batch();
  /// Reads on until it finds some messages, or reaches the end.
  Task<Result<void>> find_more();
  /// `seen`: when the messages were read.
  Task<Result<void>> deal_with(std::vector<jobs::PoisonRecord> messages, Time seen);
  Task<Result<void>> deal_with_one(jobs::PoisonRecord message);
  [[nodiscard]] bool is_stale(Time seen) const { return context_.clock.now() - seen > kFresh; }
  [[nodiscard]] bool awaits_canaries() const { return !passed_ && work_.canary > 0 && done_ >= work_.canary; }
  [[nodiscard]] json checkpoint(const std::vector<std::string>& pending) const {
    return {{"canaries", canaries_}, {"pending", pending}, {"sent", done_}, {"passed", passed_}};
  }
  Task<Result<void>> report(std::optional<std::string> phase, bool force);

  JobContext& context_;
  PoisonWork work_;
  jobs::PoisonStore poison_;
  std::vector<std::string> canaries_;  // the ids of the jobs sent as canaries
  std::uint64_t done_ = 0;
  bool passed_ = false;
  std::deque<jobs::PoisonRecord> found_;  // the messages of a page that are not dealt with yet
  Time found_at_{};
  std::string continuation_;  // the start of that page; messages that it left are found again there
  Time next_turn_{};
};

Task<Result<JobOutcome>> PoisonSweep::run() {
  JobOutcome outcome;  // empty if an earlier delivery has done and reported everything
  JobContext::Work sweeping = [&](const table_store::OperationLedger&) -> Task<Result<void>> {
    CO_TRY(co_await go_through());
    CO_TRY(co_await report(work_.did, true));
    outcome.done = done_;
    co_return Result<void>{};
  };
  auto swept = co_await context_.complete(std::move(sweeping));
  if (swept) co_return outcome;
  // Reports are some time apart. However the job was stopped, its record must say how far it came.
  auto told = co_await report(std::nullopt, true);
  if (told.failed_with(ErrorCode::kFenced)) {
    std::ignore = co_await context_.jobs.count_cancelled(context_.job_id(), context_.epoch(), done_);
  }
  co_return fail(std::move(swept.error()));
}

Task<Result<void>> PoisonSweep::go_through() {
  const auto saved = context_.checkpoint();
  if (saved.is_object()) CO_TRY(co_await resume(saved));
  while (true) {
    if (awaits_canaries()) CO_TRY(co_await await_canaries());
    CO_TRY(context_.check());
    auto batch = CO_TRY(co_await next_batch());
    if (batch.empty()) co_return Result<void>{};
    for (const auto& record : batch) {
      if (!passed_ && work_.canary > 0 && !record.job_id.empty()) canaries_.push_back(record.job_id);
    }
    CO_TRY(co_await fail_points::kSweepPlan.around(context_.save_now(checkpoint(ids_of(batch)))));
    CO_TRY(co_await deal_with(std::move(batch), found_at_));
  }
}

Task<Result<void>> PoisonSweep::resume(const json& saved) {
  canaries_ = texts_of(saved, "canaries");
  passed_ = saved.value("passed", false);
  auto pending = texts_of(saved, "pending");
  const auto seen = context_.clock.now();
  auto left = CO_TRY(co_await left_of(poison_, work_.which, context_.record(), pending));
  done_ = done_in(saved) + pending.size() - left.size();
  co_return co_await deal_with(std::move(left), seen);
}

Task<Result<std::vector<jobs::PoisonRecord>>> PoisonSweep::next_batch() {
  const auto& which = work_.which;
  std::uint64_t room = std::clamp(which.per_second / kBatchesPerSecond, kSmallestBatch, kLargestBatch);
  if (which.limit) room = std::min(room, *which.limit - std::min(*which.limit, done_));
  if (!passed_ && work_.canary > 0) room = std::min<std::uint64_t>(room, work_.canary - done_);
  std::vector<jobs::PoisonRecord> batch;
  if (room == 0) co_return batch;
  if (found_.empty() || is_stale(found_at_)) CO_TRY(co_await find_more());
  while (!found_.empty() && batch.size() < room) {
    batch.push_back(std::move(found_.front()));
    found_.pop_front();
  }
  co_return batch;
}

Task<Result<void>> PoisonSweep::find_more() {
  found_.clear();
  bool from_start = continuation_.empty();
  for (;;) {
    found_at_ = context_.clock.now();
    auto page = CO_TRY(co_await poison_.select(kPage, continuation_, work_.which));
    for (auto& record : page.records) {
      if (is_wanted(work_.which, context_.record(), record)) found_.push_back(std::move(record));
    }
    // The place stays: the messages that were dealt with are gone from it the next time.
    if (!found_.empty()) co_return Result<void>{};
    continuation_ = page.continuation;
    if (continuation_.empty() && from_start) co_return Result<void>{};
    if (continuation_.empty()) from_start = true;  // start once more from the front, for messages that moved meanwhile
  }
}

Task<Result<void>> PoisonSweep::deal_with(std::vector<jobs::PoisonRecord> messages, Time seen) {
  if (messages.empty()) co_return Result<void>{};
  const auto per_second = work_.which.per_second;
  const auto gap = Duration(std::chrono::seconds(1)) / per_second;
  const auto wave = std::max(1U, per_second / kWavesPerSecond);
  while (!messages.empty()) {
    CO_TRY(context_.check());
    const auto now = context_.clock.now();
    next_turn_ = std::max(next_turn_, now);
    if (next_turn_ > now) co_await sleep_for(context_.clock, next_turn_ - now);
    if (is_stale(seen)) {
      seen = context_.clock.now();
      messages = CO_TRY(co_await left_of(poison_, work_.which, context_.record(), ids_of(messages)));
    }
    const auto count = std::min<std::size_t>(wave, messages.size());
    next_turn_ += gap * static_cast<std::int64_t>(count);
    Step step = [&](std::size_t number) { return deal_with_one(std::move(messages[number])); };
    CO_TRY(co_await side_by_side(context_.clock, count, std::move(step)));
    messages.erase(messages.begin(), messages.begin() + static_cast<std::ptrdiff_t>(count));
    CO_TRY(co_await report(work_.doing, false));
  }
  context_.save(checkpoint({}));
  co_return Result<void>{};
}

Task<Result<void>> PoisonSweep::deal_with_one(jobs::PoisonRecord message) {
  auto dealt = co_await fail_points::kSweepDeal.around(work_.deal(poison_, std::move(message)));
  if (dealt) ++done_;
  // If it is gone, somebody else was faster.
  if (!dealt && dealt.error().code != ErrorCode::kPoisonNotFound) co_return fail(std::move(dealt.error()));
  co_return Result<void>{};
}

Task<Result<void>> PoisonSweep::await_canaries() {
  CO_TRY(co_await report("waiting for the canaries", true));
  std::size_t ended = 0;
  for (const auto& id : canaries_) {
    auto record = CO_TRY(co_await context_.jobs.find(id));
    if (!record.has_value()) {
      ++ended;
      continue;
    }
    auto poison = co_await poison_.find(record->message_id);
    if (!poison && poison.error().code != ErrorCode::kPoisonNotFound) co_return fail(std::move(poison.error()));
    if (record->state == jobs::JobState::kPoisoned && !poison) {
      // It was sent and not claimed by a worker yet, or somebody deleted it.
      if (CO_TRY(co_await context_.jobs.is_gone(std::move(*record)))) ++ended;
      continue;
    }
    if (record->state == jobs::JobState::kPoisoned) {
      co_return fail(ErrorCode::kCanaryFailed, "Job " + id + ", sent back as a canary, failed again: " + record->error);
    }
    if (jobs::is_terminal(record->state)) ++ended;
  }
  if (ended == canaries_.size()) {
    passed_ = true;
    auto saved = co_await context_.save_now(checkpoint({}));
    fail_points::kSweepCanaryAfter.reach();
    co_return saved;
  }
  CO_TRY(co_await context_.save_now(checkpoint({})));
  // This is not an attempt, and the worker is free meanwhile, because the canaries may need it.
  auto wait = make_error(ErrorCode::kServerBusy,
                         std::to_string(ended) + " of " + std::to_string(canaries_.size()) + " canaries have ended.");
  wait.fields.emplace_back("retryAfterMs", std::to_string(kCanaryPollMs));
  co_return fail(std::move(wait));
}

Task<Result<void>> PoisonSweep::report(std::optional<std::string> phase, bool force) {
  jobs::RecordChange progress;
  progress.done = done_;
  progress.phase = std::move(phase);
  CO_TRY(co_await context_.report(std::move(progress), force));
  co_return Result<void>{};
}

}  // namespace

Task<Result<JobOutcome>> sweep_poison(JobContext& context, PoisonWork work) {
  return run_as<PoisonSweep>(context, std::move(work));
}

Task<Result<void>> settle_sweep(const JobServices& services, const jobs::JobSpec& spec, const json& checkpoint,
                                const jobs::JobRecord& ended) {
  const auto* which = jobs::poison_in(spec);
  const bool told = ended.state != jobs::JobState::kCancelled || ended.phase == jobs::kStoppedPhase;
  if (which == nullptr || told || !checkpoint.is_object()) co_return Result<void>{};
  jobs::PoisonStore poison(services.jobs, services.queues);
  const auto pending = texts_of(checkpoint, "pending");
  const auto left = CO_TRY(co_await left_of(poison, *which, ended, pending));
  const auto done = done_in(checkpoint) + pending.size() - left.size();
  co_return co_await services.jobs.count_cancelled(ended.id, ended.epoch, done);
}

}  // namespace tidemark::workers
