#include "workers/runtime/job_batch.h"

#include "jobs/kinds/reach.h"
#include "workers/runtime/fail_points.h"

namespace tidemark::workers {
namespace {

/// Returns the job's work, if it is only one move of one entity between tables. A copy does not count as one: its key
/// is made from the entity, which must be read for that.
std::optional<table_store::Move> small_move(const jobs::JobSpec& spec) {
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
  plain.trace = spec.trace;
  if (plain != spec) return std::nullopt;
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

}  // namespace

std::optional<SmallJob> small_job(const queue_service::Message& message, std::string_view queue, bool traces) {
  if (message.epoch != 1 || !message.annotation.empty()) return std::nullopt;
  auto parsed = jobs::parse_job_message(message.text);
  if (!parsed || (traces && parsed->spec.trace.sampled)) return std::nullopt;
  if (!parsed->spec.queue.empty() && parsed->spec.queue != jobs::name_of_queue(queue)) return std::nullopt;
  auto move = small_move(parsed->spec);
  if (!move) return std::nullopt;
  SmallJob job;
  job.job_id = job_id_of(message, parsed, {});
  job.message = message;
  job.spec = std::move(parsed->spec);
  job.move = std::move(*move);
  return job;
}

struct JobBatch::Batch {
  std::string queue;
  std::vector<SmallJob> jobs;
  Time taken;
  Time begun;
  std::vector<std::size_t> tried;  // the jobs whose moves were sent
  std::vector<bool> moved;         // for each job
};

Task<BatchOutcome> JobBatch::run(std::string queue, std::vector<SmallJob> jobs, Time taken) {
  Batch batch{std::move(queue), std::move(jobs), taken, services_.clock.now(), {}, {}};
  batch.moved.resize(batch.jobs.size());
  auto done = co_await prepare(batch);
  if (done && !batch.tried.empty()) {
    done = co_await move(batch);
  }
  BatchOutcome outcome;
  for (std::size_t i = 0; i < batch.jobs.size(); ++i) {
    auto& job = batch.jobs[i];
    if (!batch.moved[i]) outcome.left.push_back(std::move(job.message));
    if (batch.moved[i]) {
      outcome.ended.push_back({RunEnd::kSucceeded, job.job_id, std::string(jobs::kind_name(job.spec)), std::nullopt,
                               job.spec.trace, job.message.epoch, job.message.inserted});
    }
  }
  if (outcome.ended.empty()) co_return outcome;
  co_await complete(batch);
  co_return outcome;
}

Task<Result<void>> JobBatch::prepare(Batch& batch) {
  co_await gate_.refresh();
  std::vector<std::string> ids;
  for (const auto& job : batch.jobs) ids.push_back(job.job_id);
  auto records = CO_TRY(co_await services_.jobs.find_all(std::move(ids)));
  for (std::size_t i = 0; i < batch.jobs.size(); ++i) {
    auto& job = batch.jobs[i];
    const std::string kind(jobs::kind_name(job.spec));
    std::vector<PartitionRef> places{{job.move.source, job.move.partition_key}};
    if (!job.move.destination.empty()) places.push_back({job.move.destination, job.move.partition_key});
    if (!gate_.unrestricted(kind, places)) continue;
    // At its first delivery, a job's record is still as its submission wrote it.
    auto& record = records[i];
    auto text = record ? record->spec : std::string();
    auto delivery = delivery_of(job.message, job.job_id, job.spec, options_.worker_name, std::move(text));
    delivery.queue = jobs::name_of_queue(batch.queue);
    jobs::RecordChange change;
    change.state = jobs::JobState::kSucceeded;
    change.done = 1;
    change.phase = "finished";
    change.attempt = attempt_of(job.message, options_.worker_name, batch.begun, services_.clock.now(), "succeeded");
    job.move.companion = services_.jobs.end_at_once(std::move(record), delivery, change);
    if (!job.move.companion) continue;
    job.move.fence = {job.job_id, job.message.epoch, std::string(kDone)};
    batch.tried.push_back(i);
  }
  co_return Result<void>{};
}

Task<Result<void>> JobBatch::move(Batch& batch) {
  // Carrying on too late is harmless, but another delivery may have the jobs by now.
  if (services_.clock.now() >= batch.taken + options_.lease) co_return Result<void>{};
  std::vector<table_store::Move> moves;
  for (const auto i : batch.tried) moves.push_back(std::move(batch.jobs[i].move));
  const auto outcomes = CO_TRY(co_await fail_points::kBatchMove.around(services_.tables.move_all(std::move(moves))));
  for (std::size_t n = 0; n < batch.tried.size(); ++n) batch.moved[batch.tried[n]] = outcomes[n].has_value();
  co_return Result<void>{};
}

Task<void> JobBatch::complete(Batch& batch) {
  std::vector<queue_service::Lease> leases;
  for (std::size_t i = 0; i < batch.jobs.size(); ++i) {
    const auto& message = batch.jobs[i].message;
    if (batch.moved[i]) leases.push_back(queue_service::lease_of(batch.queue, message));
  }
  // The records say succeeded: a message that stays is dropped at its next delivery.
  std::ignore = co_await fail_points::kBatchComplete.around(services_.queues.complete_all(std::move(leases)));
}

}  // namespace tidemark::workers
