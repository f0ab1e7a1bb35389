#include "workers/runtime/job_batch.h"

#include <algorithm>

#include "common/base/side_by_side.h"
#include "jobs/kinds/reach.h"
#include "workers/runtime/fail_points.h"
#include "workers/runtime/small_transaction.h"

namespace tidemark::workers {
namespace {

/// Tells whether the job has no members besides those of its kind, and a few that do not describe its work.
bool is_plain(const jobs::JobSpec& spec) {
  // These members do not describe the work itself. Any other member asks for more than a move, and is not handled here.
  jobs::JobSpec plain;
  plain.work = spec.work;
  plain.max_attempts = spec.max_attempts;
  plain.idempotency_key = spec.idempotency_key;
  plain.priority = spec.priority;
  plain.queue = spec.queue;
  plain.key = spec.key;
  plain.retry_base_ms = spec.retry_base_ms;
  plain.retry_cap_ms = spec.retry_cap_ms;
  if (!jobs::holds_lane(spec)) plain.cause = spec.cause;
  plain.trace = spec.trace;
  return plain == spec;
}

/// Returns the job's work, if it is only one move of one entity between tables. A copy does not count as one: its key
/// is made from the entity, which must be read for that.
std::optional<table_store::Move> small_move(const jobs::JobSpec& spec) {
  auto reach = jobs::reach_of(spec);
  const bool one_account = reach.from.account.empty() && reach.to.account.empty();
  const bool one = reach.selection.entity && !reach.from.archive && !reach.to.archive && one_account;
  if (!one || !(reach.moves() || reach.step == jobs::Step::kErase)) return std::nullopt;
  table_store::Move move;
  move.source = std::move(reach.from.table);
  move.destination = std::move(reach.to.table);
  move.partition_key = std::move(reach.selection.entity->partition_key);
  move.row_key = std::move(reach.selection.entity->row_key);
  move.back = reach.step == jobs::Step::kRestore;
  return move;
}

std::vector<PartitionRef> places_of(const table_store::Move& move) {
  std::vector<PartitionRef> places{{move.source, move.partition_key}};
  if (!move.destination.empty()) places.push_back({move.destination, move.partition_key});
  return places;
}

table_store::Fence fence_of(const SmallJob& job) {
  return {.operation_id = job.job_id,
          .epoch = job.message.epoch,
          .count_applied_as = {},
          .cause = jobs::chain_of(job.spec)};
}

}  // namespace

std::optional<SmallJob> small_job(const queue_service::Message& message, std::string_view queue, bool traces) {
  if (message.epoch != 1 || !message.annotation.empty()) return std::nullopt;
  auto parsed = jobs::parse_job_message(message.text);
  if (!parsed || (traces && parsed->spec.trace.sampled)) return std::nullopt;
  if (!parsed->spec.queue.empty() && parsed->spec.queue != jobs::name_of_queue(queue)) return std::nullopt;
  if (!is_plain(parsed->spec)) return std::nullopt;
  SmallJob job;
  if (const auto* transaction = std::get_if<jobs::TransactionSpec>(&parsed->spec.work)) {
    if (!is_small(*transaction)) return std::nullopt;
  } else {
    job.move = small_move(parsed->spec);
    if (!job.move) return std::nullopt;
  }
  job.job_id = job_id_of(message, parsed, {});
  job.message = message;
  job.spec = std::move(parsed->spec);
  return job;
}

struct JobBatch::Batch {
  std::string queue;
  std::vector<SmallJob> jobs;
  Time taken;
  Time begun;
  std::vector<std::optional<jobs::JobRecord>> records;  // for each job, as it was submitted
  std::vector<bool> done;                               // for each job
};

Task<BatchOutcome> JobBatch::run(std::string queue, std::vector<SmallJob> jobs, Time taken) {
  Batch batch{std::move(queue), std::move(jobs), taken, services_.clock.now(), {}, {}};
  batch.done.resize(batch.jobs.size());
  co_await gate_.refresh();
  std::vector<std::string> ids;
  for (const auto& job : batch.jobs) ids.push_back(job.job_id);
  auto records = co_await services_.jobs.find_all(std::move(ids));
  if (records) {
    batch.records = std::move(*records);
    std::ignore = co_await move(batch);
    co_await take_steps(batch);
  }
  BatchOutcome outcome;
  for (std::size_t i = 0; i < batch.jobs.size(); ++i) {
    auto& job = batch.jobs[i];
    if (!batch.done[i]) outcome.left.push_back(std::move(job.message));
    if (batch.done[i]) {
      outcome.ended.push_back({RunEnd::kSucceeded, job.job_id, std::string(jobs::kind_name(job.spec)), std::nullopt,
                               job.spec.trace, job.message.epoch, job.message.inserted});
    }
  }
  if (outcome.ended.empty()) co_return outcome;
  co_await complete(batch);
  co_return outcome;
}

bool JobBatch::in_time(const Batch& batch) const { return services_.clock.now() < batch.taken + options_.lease; }

std::optional<table_store::Companion> JobBatch::end_of(Batch& batch, std::size_t number, std::uint64_t done) const {
  const auto& job = batch.jobs[number];
  // At its first delivery, a job's record is still as its submission wrote it.
  const auto& record = batch.records[number];
  auto text = record ? record->spec : std::string();
  auto delivery = delivery_of(job.message, job.job_id, job.spec, options_.worker_name, std::move(text));
  delivery.queue = jobs::name_of_queue(batch.queue);
  jobs::RecordChange change;
  change.state = jobs::JobState::kSucceeded;
  change.done = done;
  if (!job.move) change.total = done;
  change.phase = "finished";
  change.attempt = attempt_of(job.message, options_.worker_name, batch.begun, services_.clock.now(), "succeeded");
  return services_.jobs.end_at_once(record, delivery, change);
}

Task<Result<void>> JobBatch::move(Batch& batch) {
  std::vector<table_store::Move> moves;
  std::vector<std::size_t> moved;
  for (std::size_t i = 0; i < batch.jobs.size(); ++i) {
    auto& job = batch.jobs[i];
    if (!job.move || !gate_.unrestricted(std::string(jobs::kind_name(job.spec)), places_of(*job.move))) continue;
    auto end = end_of(batch, i, 1);
    if (!end) continue;
    job.move->companion = std::move(*end);
    job.move->fence = fence_of(job);
    job.move->fence.count_applied_as = kDone;
    moves.push_back(std::move(*job.move));
    moved.push_back(i);
  }
  // Carrying on too late is harmless, but another delivery may have the jobs by now.
  if (moves.empty() || !in_time(batch)) co_return Result<void>{};
  const auto outcomes = CO_TRY(co_await fail_points::kBatchMove.around(services_.tables.move_all(std::move(moves))));
  for (std::size_t n = 0; n < moved.size(); ++n) batch.done[moved[n]] = outcomes[n].has_value();
  co_return Result<void>{};
}

Task<void> JobBatch::take_steps(Batch& batch) {
  std::vector<std::size_t> transactions;
  for (std::size_t i = 0; i < batch.jobs.size(); ++i) {
    if (!batch.jobs[i].move) transactions.push_back(i);
  }
  if (transactions.empty()) co_return;
  StepCalls calls(services_);
  const auto take = [&](std::size_t n) -> Task<Result<void>> {
    const auto i = transactions[n];
    const auto& job = batch.jobs[i];
    SmallTransaction transaction({.calls = calls,
                                  .gate = gate_,
                                  .spec = std::get<jobs::TransactionSpec>(job.spec.work),
                                  .fence = fence_of(job),
                                  .end = [&batch, i, this](std::uint64_t steps) { return end_of(batch, i, steps); },
                                  .in_time = [&batch, this] { return in_time(batch); }});
    batch.done[i] = (co_await transaction.run()).value_or(false);
    co_return Result<void>{};
  };
  std::ignore = co_await side_by_side(services_.clock, transactions.size(), take, transactions.size());
}

Task<void> JobBatch::complete(Batch& batch) {
  std::vector<queue_service::Lease> leases;
  for (std::size_t i = 0; i < batch.jobs.size(); ++i) {
    const auto& message = batch.jobs[i].message;
    if (batch.done[i]) leases.push_back(queue_service::lease_of(batch.queue, message));
  }
  // The records say succeeded: a message that stays is dropped at its next delivery.
  std::ignore = co_await fail_points::kBatchComplete.around(services_.queues.complete_all(std::move(leases)));
}

}  // namespace tidemark::workers
