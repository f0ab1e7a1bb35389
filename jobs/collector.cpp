#include "jobs/collector.h"

#include "jobs/groups.h"
#include "jobs/rows.h"

namespace tidemark::jobs {
namespace {

using table_store::Entity;

constexpr Duration kDeadWorkersShown = std::chrono::hours(24);
constexpr Duration kTimeToBeTaken = std::chrono::hours(24);

std::string before(std::string_view partition, std::string_view property, Time time) {
  std::string filter = "PartitionKey eq '";
  filter += partition;
  filter += "' and ";
  filter += property;
  filter += " lt datetime'" + to_iso8601(time) + "'";
  return filter;
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
  auto jobs_task = sweep(Rows::kJobs, before(kJobPartition, "FinishedAt", limit));
  auto jobs = co_await std::move(jobs_task);
  if (!jobs) co_return fail(std::move(jobs.error()));
  auto own_task = sweep(Rows::kJobs, before(kJobPartition, "KeepUntil", now));
  auto own = co_await std::move(own_task);
  if (!own) co_return fail(std::move(own.error()));
  out.jobs = *jobs + *own;
  auto keys_task = sweep(Rows::kKeys, before(kIdempotencyPartition, "Timestamp", limit));
  auto keys = co_await std::move(keys_task);
  if (!keys) co_return fail(std::move(keys.error()));
  out.keys = *keys;
  Groups groups(tables_, clock_);
  auto groups_task = groups.collect(limit);
  auto old_groups = co_await std::move(groups_task);
  if (!old_groups) co_return fail(std::move(old_groups.error()));
  out.groups = *old_groups;
  auto workers_task = sweep(Rows::kWorkers, before("workers", "HeartbeatAt", now - kDeadWorkersShown));
  auto workers = co_await std::move(workers_task);
  if (!workers) co_return fail(std::move(workers.error()));
  out.workers = *workers;
  co_return out;
}

Task<Result<std::uint64_t>> Collector::sweep(Rows rows, std::string filter) {
  std::uint64_t removed = 0;
  std::string continuation;
  do {
    table_store::QueryRequest request;
    request.table = std::string(kJobTable);
    request.filter = filter;
    request.continuation = std::move(continuation);
    auto query_task = tables_.query(std::move(request));
    auto page = co_await std::move(query_task);
    if (!page) co_return fail(std::move(page.error()));
    for (const auto& entity : page->entities) {
      auto ask_task = removable(rows, entity);
      auto may = co_await std::move(ask_task);
      if (!may) co_return fail(std::move(may.error()));
      if (!*may) continue;
      auto remove_task = remove(rows, entity);
      auto gone = co_await std::move(remove_task);
      if (!gone) co_return fail(std::move(gone.error()));
      if (*gone) ++removed;
    }
    continuation = std::move(page->continuation);
  } while (!continuation.empty());
  co_return removed;
}

Task<Result<bool>> Collector::removable(Rows rows, Entity entity) {
  if (rows == Rows::kWorkers) co_return true;
  if (rows == Rows::kKeys) {
    const auto* id = property<std::string>(entity, "JobId");
    if (id == nullptr) co_return false;
    auto task = tables_.get(std::string(kJobTable), std::string(kJobPartition), *id);
    auto job = co_await std::move(task);
    if (!job) co_return fail(std::move(job.error()));
    co_return !job->has_value();
  }
  if (const auto* until = property<Time>(entity, "KeepUntil"); until != nullptr && *until >= clock_.now()) {
    co_return false;
  }
  auto record = record_from_entity(entity);
  // Whatever somebody else put there is not ours to remove.
  if (!record || !is_terminal(record->state) || has_delayed_message(*record, clock_.now())) co_return false;
  if (record->state != JobState::kPoisoned) co_return true;
  auto task = queues_.find(std::string(kPoisonQueue), record->message_id);
  auto message = co_await std::move(task);
  if (message.failed_with(ErrorCode::kMessageNotFound)) co_return true;
  if (!message) co_return fail(std::move(message.error()));
  co_return !message->has_value();
}

Task<Result<bool>> Collector::remove(Rows rows, Entity entity) {
  if (rows == Rows::kJobs) {
    // The ledger first: a record that is left is found again, a ledger without one would never be.
    auto close_task = tables_.close_operation(entity.row_key, INT64_MAX);
    auto closed = co_await std::move(close_task);
    if (!closed && closed.error().code != ErrorCode::kFenced) co_return fail(std::move(closed.error()));
    auto forget_task = tables_.forget_operation(entity.row_key);
    auto forgotten = co_await std::move(forget_task);
    if (!forgotten) co_return fail(std::move(forgotten.error()));
  }
  auto task = change_row(tables_, entity.partition_key, erasure_of(entity.row_key, entity.version));
  auto gone = co_await std::move(task);
  if (!gone) co_return fail(std::move(gone.error()));
  co_return gone->has_value();
}

}  // namespace tidemark::jobs
