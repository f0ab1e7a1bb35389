#include "jobs/kinds/redrive/redrive.h"

#include <algorithm>
#include <deque>

#include "common/base/side_by_side.h"
#include "jobs/poison/poison.h"
#include "workers/runtime/fail_points.h"
#include "workers/runtime/job_context.h"

namespace tidemark::workers {
namespace {

using nlohmann::json;

// Messages whose sending is noted at once: at a high pace more, so that notes are not what takes the time.
constexpr std::uint32_t kSmallestBatch = 20, kLargestBatch = 100;
constexpr std::uint32_t kBatchesPerSecond = 10;
// Of a batch, so many are sent at once that the pace is held: the next wave comes when its time has.
constexpr std::uint32_t kWavesPerSecond = 20;
constexpr std::uint32_t kPage = 200;
// What was read before is not sent unseen: by then a message may have failed anew.
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

/// One run of a redrive job. Lives in run()'s frame.
class Redrive {
 public:
  Redrive(JobContext& context, jobs::RedriveSpec spec)
      : context_(context), spec_(std::move(spec)), poison_(context.jobs, context.queues) {}

  Task<Result<JobOutcome>> run();

 private:
  Task<Result<void>> work();
  Task<Result<void>> await_canaries();
  /// The next messages to send; empty at the end.
  Task<Result<std::vector<jobs::PoisonRecord>>> next_batch();
  /// Reads on until some are found, or the end.
  Task<Result<void>> find_more();
  Task<Result<void>> send(std::vector<std::string> ids);
  Task<Result<void>> send_one(std::string id);
  [[nodiscard]] bool wanted(const jobs::PoisonRecord& record) const;
  [[nodiscard]] json checkpoint(const std::vector<std::string>& pending) const {
    return {{"canaries", canaries_}, {"pending", pending}, {"sent", sent_}, {"passed", passed_}};
  }
  Task<Result<void>> report(std::string phase, bool force);

  JobContext& context_;
  jobs::RedriveSpec spec_;
  jobs::PoisonStore poison_;
  std::vector<std::string> canaries_;  // jobs
  std::uint64_t sent_ = 0;
  bool passed_ = false;
  std::deque<jobs::PoisonRecord> found_;  // of a page, and not sent yet
  Time found_at_{};
  std::string continuation_;  // of that page; what it left is found again there
  Time next_send_{};
};

Task<Result<JobOutcome>> Redrive::run() {
  JobOutcome outcome;  // empty if an earlier delivery has sent and reported all
  JobContext::Work sending = [&](const table_store::OperationLedger&) -> Task<Result<void>> {
    CO_TRY(co_await work());
    CO_TRY(co_await report("sent", true));
    outcome.done = sent_;
    co_return Result<void>{};
  };
  CO_TRY(co_await context_.complete(std::move(sending)));
  co_return outcome;
}

Task<Result<void>> Redrive::work() {
  const auto saved = context_.checkpoint();
  if (saved.is_object()) {
    canaries_ = texts_of(saved, "canaries");
    sent_ = saved.value("sent", std::uint64_t{0});
    passed_ = saved.value("passed", false);
    auto pending = texts_of(saved, "pending");
    CO_TRY(co_await send(std::move(pending)));
  }
  while (true) {
    if (!passed_ && spec_.canary > 0 && sent_ >= spec_.canary) {
      CO_TRY(co_await await_canaries());
    }
    CO_TRY(context_.check());
    auto batch = CO_TRY(co_await next_batch());
    if (batch.empty()) co_return Result<void>{};
    std::vector<std::string> ids;
    for (const auto& record : batch) {
      ids.push_back(record.message_id);
      if (!passed_ && spec_.canary > 0 && !record.job_id.empty()) canaries_.push_back(record.job_id);
    }
    CO_TRY(co_await fail_points::kRedrivePlan.around(context_.save_now(checkpoint(ids))));
    CO_TRY(co_await send(std::move(ids)));
  }
}

bool Redrive::wanted(const jobs::PoisonRecord& record) const {
  // What comes back to the poison queue while this job runs is not its business any more.
  if (record.moved_at && *record.moved_at >= context_.record().submitted_at) return false;
  if (record.kind == "redrive" && spec_.which.kind != "redrive") return false;
  return jobs::matches(spec_.which, record);
}

Task<Result<std::vector<jobs::PoisonRecord>>> Redrive::next_batch() {
  std::uint64_t room = std::clamp(spec_.per_second / kBatchesPerSecond, kSmallestBatch, kLargestBatch);
  if (spec_.limit) room = std::min(room, *spec_.limit - std::min(*spec_.limit, sent_));
  if (!passed_ && spec_.canary > 0) room = std::min<std::uint64_t>(room, spec_.canary - sent_);
  std::vector<jobs::PoisonRecord> batch;
  if (room == 0) co_return batch;
  const bool stale = context_.clock.now() - found_at_ > kFresh;
  if (found_.empty() || stale) CO_TRY(co_await find_more());
  while (!found_.empty() && batch.size() < room) {
    batch.push_back(std::move(found_.front()));
    found_.pop_front();
  }
  co_return batch;
}

Task<Result<void>> Redrive::find_more() {
  found_.clear();
  bool from_start = continuation_.empty();
  for (;;) {
    found_at_ = context_.clock.now();
    auto page = CO_TRY(co_await poison_.list(kPage, continuation_, spec_.which));
    for (auto& record : page.records) {
      if (wanted(record)) found_.push_back(std::move(record));
    }
    // The place stays: what was sent is gone from it by the next time.
    if (!found_.empty()) co_return Result<void>{};
    continuation_ = page.continuation;
    if (continuation_.empty() && from_start) co_return Result<void>{};
    if (continuation_.empty()) from_start = true;  // once more from the front, for what moved meanwhile
  }
}

Task<Result<void>> Redrive::send(std::vector<std::string> ids) {
  const auto gap = Duration(std::chrono::seconds(1)) / spec_.per_second;
  const auto wave = std::max(1U, spec_.per_second / kWavesPerSecond);
  for (std::size_t from = 0; from < ids.size(); from += wave) {
    CO_TRY(context_.check());
    const auto now = context_.clock.now();
    next_send_ = std::max(next_send_, now);
    if (next_send_ > now) co_await sleep_for(context_.clock, next_send_ - now);
    const auto count = std::min<std::size_t>(wave, ids.size() - from);
    next_send_ += gap * static_cast<std::int64_t>(count);
    Step step = [&](std::size_t number) { return send_one(std::move(ids[from + number])); };
    CO_TRY(co_await side_by_side(context_.clock, count, std::move(step)));
    sent_ += count;
    CO_TRY(co_await report("sending", false));
  }
  if (!ids.empty()) context_.save(checkpoint({}));
  co_return Result<void>{};
}

Task<Result<void>> Redrive::send_one(std::string id) {
  auto sent =
      co_await fail_points::kRedriveSend.around(poison_.redrive(std::move(id), std::nullopt, context_.job_id()));
  // Gone: sent by the delivery before this one, or by a person.
  if (!sent && sent.error().code != ErrorCode::kPoisonNotFound) co_return fail(std::move(sent.error()));
  co_return Result<void>{};
}

Task<Result<void>> Redrive::await_canaries() {
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
    // Poisoned and not in the queue: it was sent, and no worker has claimed it yet.
    if (record->state == jobs::JobState::kPoisoned && !poison) continue;
    if (record->state == jobs::JobState::kPoisoned) {
      co_return fail(ErrorCode::kCanaryFailed, "Job " + id + ", sent back as a canary, failed again: " + record->error);
    }
    if (jobs::is_terminal(record->state)) ++ended;
  }
  if (ended == canaries_.size()) {
    passed_ = true;
    auto saved = co_await context_.save_now(checkpoint({}));
    fail_points::kRedriveCanaryAfter.reach();
    co_return saved;
  }
  CO_TRY(co_await context_.save_now(checkpoint({})));
  // Not an attempt, and the worker is free meanwhile: the canaries may need it.
  auto wait = make_error(ErrorCode::kServerBusy,
                         std::to_string(ended) + " of " + std::to_string(canaries_.size()) + " canaries have ended.");
  wait.fields.emplace_back("retryAfterMs", std::to_string(kCanaryPollMs));
  co_return fail(std::move(wait));
}

Task<Result<void>> Redrive::report(std::string phase, bool force) {
  jobs::RecordChange progress;
  progress.done = sent_;
  progress.phase = std::move(phase);
  CO_TRY(co_await context_.report(std::move(progress), force));
  co_return Result<void>{};
}

}  // namespace

Task<Result<JobOutcome>> run(JobContext& context, jobs::RedriveSpec spec) {
  return run_as<Redrive>(context, std::move(spec));
}

}  // namespace tidemark::workers
