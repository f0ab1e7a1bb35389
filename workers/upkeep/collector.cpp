#include "workers/upkeep/collector.h"

#include "jobs/store/groups.h"
#include "jobs/store/rows.h"

namespace tidemark::jobs {
namespace {

using table_store::Entity;

constexpr Duration kDeadWorkersShown = std::chrono::hours(24);
constexpr Duration kTimeToBeTaken = std::chrono::hours(24);

table_store::QueryRequest before(std::string_view partition, const std::string& property, Time time) {
  return rows_of(partition, property + " lt datetime'" + to_iso8601(time) + "'");
}

/// The message of a cancelled job stays in its queue until it is due, and must find the record then: without one it
/// would be a job that nobody has cancelled.
bool has_delayed_message(const JobRecord& record, Time now) {
  if (record.state != JobState::kCancelled || !record.finished_at) return false;
  const auto due = std::max(record.not_before.value_or(*record.finished_at), *record.finished_at + kLongestRetry);
  return now < due + kTimeToBeTaken;
}

}  // namespace

Task<Result<Collected>> Collector::collect() {
  const auto now = clock_.now();
  const auto limit = now - retention_;
  Collected out;
  auto jobs = CO_TRY(co_await sweep(Rows::kJobs, before(kJobPartition, "FinishedAt", limit)));
  auto own = CO_TRY(co_await sweep(Rows::kJobs, before(kJobPartition, "KeepUntil", now)));
  out.jobs = jobs + own;
  out.keys = CO_TRY(co_await sweep(Rows::kKeys, before(kIdempotencyPartition, "Timestamp", limit)));
  Groups groups(tables_, clock_);
  out.groups = CO_TRY(co_await groups.collect(limit));
  out.workers = CO_TRY(co_await sweep(Rows::kWorkers, before("workers", "HeartbeatAt", now - kDeadWorkersShown)));
  co_return out;
}

Task<Result<std::uint64_t>> Collector::sweep(Rows rows, table_store::QueryRequest request) {
  std::uint64_t removed = 0;
  do {
    auto page = CO_TRY(co_await tables_.query(request));
    for (const auto& entity : page.entities) {
      if (!CO_TRY(co_await removable(rows, entity))) continue;
      if (CO_TRY(co_await remove(rows, entity))) ++removed;
    }
    request.continuation = std::move(page.continuation);
  } while (!request.continuation.empty());
  co_return removed;
}

Task<Result<bool>> Collector::removable(Rows rows, Entity entity) {
  if (rows == Rows::kWorkers) co_return true;
  if (rows == Rows::kKeys) {
    const auto* id = property<std::string>(entity, "JobId");
    if (id == nullptr) co_return false;
    auto job = CO_TRY(co_await tables_.get(std::string(kJobTable), std::string(kJobPartition), *id));
    co_return !job.has_value();
  }
  if (const auto* until = property<Time>(entity, "KeepUntil"); until != nullptr && *until >= clock_.now()) {
    co_return false;
  }
  auto record = record_from_entity(entity);
  // Whatever somebody else put there is not ours to remove.
  if (!record || !is_terminal(record->state) || has_delayed_message(*record, clock_.now())) co_return false;
  if (record->state != JobState::kPoisoned) co_return true;
  auto message = co_await queues_.find(std::string(kPoisonQueue), record->message_id);
  if (message.failed_with(ErrorCode::kMessageNotFound)) co_return true;
  if (!message) co_return fail(std::move(message.error()));
  co_return !message->has_value();
}

Task<Result<bool>> Collector::remove(Rows rows, Entity entity) {
  if (rows == Rows::kJobs) {
    // The ledger first: a record that is left is found again, a ledger without one would never be.
    auto closed = co_await tables_.close_operation(entity.row_key, INT64_MAX);
    if (!closed && closed.error().code != ErrorCode::kFenced) co_return fail(std::move(closed.error()));
    CO_TRY(co_await tables_.forget_operation(entity.row_key));
  }
  auto gone = CO_TRY(co_await change_row(tables_, entity.partition_key, erasure_of(entity.row_key, entity.version)));
  co_return gone.has_value();
}

}  // namespace tidemark::jobs
