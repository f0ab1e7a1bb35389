#include "workers/runtime/job_batch.h"

#include <algorithm>

#include "common/base/side_by_side.h"
#include "jobs/kinds/reach.h"
#include "jobs/kinds/transaction/filled_steps.h"
#include "workers/runtime/fail_points.h"

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

/// Tells whether the transaction reads and changes only entities of the jobs' account.
bool is_small(const jobs::TransactionSpec& transaction) {
  const auto at_home = [](const auto& guard) { return guard.account.empty(); };
  return std::ranges::all_of(transaction.guards, at_home) &&
         std::ranges::all_of(transaction.steps, [&](const auto& step) {
           const auto* entity = jobs::entity_of(step);
           return entity != nullptr && transaction.target_of(*entity).account.empty();
         });
}

std::vector<PartitionRef> places_of(const table_store::Move& move) {
  std::vector<PartitionRef> places{{move.source, move.partition_key}};
  if (!move.destination.empty()) places.push_back({move.destination, move.partition_key});
  return places;
}

std::vector<PartitionRef> places_of(const table_store::StepsRequest& request) {
  std::vector<PartitionRef> places;
  for (const auto& step : request.steps) places.push_back({step.table, step.partition_key});
  return places;
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
    job.work = table_store::StepsRequest{};
  } else {
    auto move = small_move(parsed->spec);
    if (!move) return std::nullopt;
    job.work = std::move(*move);
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
  std::vector<std::size_t> tried;  // the jobs whose work was sent
  std::vector<bool> done;          // for each job
};

Task<BatchOutcome> JobBatch::run(std::string queue, std::vector<SmallJob> jobs, Time taken) {
  Batch batch{std::move(queue), std::move(jobs), taken, services_.clock.now(), {}, {}};
  batch.done.resize(batch.jobs.size());
  if (co_await prepare(batch) && !batch.tried.empty()) {
    std::ignore = co_await move(batch);
    std::ignore = co_await take_steps(batch);
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

Task<Result<void>> JobBatch::prepare(Batch& batch) {
  co_await gate_.refresh();
  std::vector<std::string> ids;
  for (const auto& job : batch.jobs) ids.push_back(job.job_id);
  auto records = CO_TRY(co_await services_.jobs.find_all(std::move(ids)));
  const auto ready = co_await fill_in(batch);
  for (std::size_t i = 0; i < batch.jobs.size(); ++i) {
    auto& job = batch.jobs[i];
    const std::string kind(jobs::kind_name(job.spec));
    if (!ready[i]) continue;
    const auto places = std::visit([](const auto& work) { return places_of(work); }, job.work);
    if (!gate_.unrestricted(kind, places)) continue;
    // At its first delivery, a job's record is still as its submission wrote it.
    auto& record = records[i];
    auto text = record ? record->spec : std::string();
    auto delivery = delivery_of(job.message, job.job_id, job.spec, options_.worker_name, std::move(text));
    delivery.queue = jobs::name_of_queue(batch.queue);
    jobs::RecordChange change;
    change.state = jobs::JobState::kSucceeded;
    const auto* steps = std::get_if<table_store::StepsRequest>(&job.work);
    change.done = steps != nullptr ? steps->steps.size() : 1;
    if (steps != nullptr) change.total = change.done;
    change.phase = "finished";
    change.attempt = attempt_of(job.message, options_.worker_name, batch.begun, services_.clock.now(), "succeeded");
    auto companion = services_.jobs.end_at_once(std::move(record), delivery, change);
    if (!companion) continue;
    std::visit(
        [&](auto& work) {
          work.companion = std::move(*companion);
          work.fence = {.operation_id = job.job_id,
                        .epoch = job.message.epoch,
                        .count_applied_as = steps == nullptr ? std::string(kDone) : std::string(),
                        .cause = jobs::chain_of(job.spec)};
        },
        job.work);
    batch.tried.push_back(i);
  }
  co_return Result<void>{};
}

Task<Result<void>> JobBatch::move(Batch& batch) {
  // Carrying on too late is harmless, but another delivery may have the jobs by now.
  if (services_.clock.now() >= batch.taken + options_.lease) co_return Result<void>{};
  std::vector<table_store::Move> moves;
  std::vector<std::size_t> places;
  for (const auto i : batch.tried) {
    auto* move = std::get_if<table_store::Move>(&batch.jobs[i].work);
    if (move == nullptr) continue;
    moves.push_back(std::move(*move));
    places.push_back(i);
  }
  if (moves.empty()) co_return Result<void>{};
  const auto outcomes = CO_TRY(co_await fail_points::kBatchMove.around(services_.tables.move_all(std::move(moves))));
  for (std::size_t n = 0; n < places.size(); ++n) batch.done[places[n]] = outcomes[n].has_value();
  co_return Result<void>{};
}

Task<std::vector<bool>> JobBatch::fill_in(Batch& batch) {
  std::vector<bool> ready(batch.jobs.size(), true);
  const auto fill = [&](std::size_t i) -> Task<Result<void>> {
    auto& job = batch.jobs[i];
    auto* request = std::get_if<table_store::StepsRequest>(&job.work);
    if (request == nullptr) co_return Result<void>{};
    ready[i] = false;
    const auto& transaction = std::get<jobs::TransactionSpec>(job.spec.work);
    auto read = co_await jobs::read_guards(services_.jobs, transaction, job.job_id);
    if (!read || read->broken) co_return Result<void>{};
    auto steps = jobs::fill_in(transaction, read->values);
    auto place = jobs::deciding_place(transaction, job.job_id);
    if (!steps || !place) co_return Result<void>{};
    request->deciding = table_store::Deciding::kGoesAhead;
    request->note = jobs::decision_note(transaction, read->values);
    request->at = std::move(*place);
    request->guards = std::move(read->guards);
    for (auto& step : *steps) request->steps.push_back(std::move(std::get<jobs::FilledEntityStep>(step).change));
    ready[i] = true;
    co_return Result<void>{};
  };
  std::ignore = co_await side_by_side(services_.clock, batch.jobs.size(), fill, batch.jobs.size());
  co_return ready;
}

Task<Result<void>> JobBatch::take_steps(Batch& batch) {
  if (services_.clock.now() >= batch.taken + options_.lease) co_return Result<void>{};
  const auto take = [&](std::size_t n) -> Task<Result<void>> {
    const auto i = batch.tried[n];
    auto* request = std::get_if<table_store::StepsRequest>(&batch.jobs[i].work);
    if (request == nullptr) co_return Result<void>{};
    const auto reply = co_await fail_points::kBatchSteps.around(services_.tables.take_steps(std::move(*request)));
    const auto* taken = reply ? std::get_if<table_store::StepsTaken>(&*reply) : nullptr;
    batch.done[i] = taken != nullptr && taken->ended;
    co_return Result<void>{};
  };
  co_return co_await side_by_side(services_.clock, batch.tried.size(), take, batch.tried.size());
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
