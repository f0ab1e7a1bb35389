#include "workers/upkeep/collector.h"

#include "jobs/audit/audit_store.h"
#include "jobs/kinds/reach.h"
#include "jobs/store/cancel_notices.h"
#include "jobs/store/groups.h"
#include "jobs/store/held_lanes.h"
#include "jobs/store/rows.h"
#include "jobs/work/claim_notes.h"

namespace tidemark::jobs {
namespace {

using table_store::Entity;

constexpr Duration kDeadWorkersShown = std::chrono::hours(24);
// Longer than any claim is repeated, or any stream of events waits for a notice.
constexpr Duration kNotesKept = std::chrono::hours(1);

table_store::QueryRequest before(std::string_view partition, const std::string& property, Time time) {
  return rows_of(partition, property + " lt datetime'" + to_iso8601(time) + "'");
}

/// The store's versions only rise, whatever the worker's clock says.
Time written_at(const Entity& entity) { return Time(Ticks(entity.version)); }

/// Returns how long the record stays after its end.
Duration keep_of(const Entity& entity, Duration retention) {
  const auto* until = property<Time>(entity, "KeepUntil");
  const auto* finished = property<Time>(entity, "FinishedAt");
  return until != nullptr && finished != nullptr ? *until - *finished : retention;
}

}  // namespace

Task<Result<Collected>> Collector::collect(Time now) {
  const auto limit = now - retention_;
  Collected out;
  auto jobs = CO_TRY(co_await sweep(Rows::kJobs, now, before(kJobPartition, "FinishedAt", limit)));
  auto own = CO_TRY(co_await sweep(Rows::kJobs, now, before(kJobPartition, "KeepUntil", now)));
  out.jobs = jobs + own;
  out.keys = CO_TRY(co_await sweep(Rows::kKeys, now, before(kIdempotencyPartition, "Timestamp", limit)));
  CO_TRY(co_await sweep(Rows::kKeys, now, before(kLanePartition, "Timestamp", limit)));
  Groups groups(tables_, clock_);
  out.groups = CO_TRY(co_await groups.collect(limit));
  out.workers = CO_TRY(co_await sweep(Rows::kWorkers, now, before("workers", "HeartbeatAt", now - kDeadWorkersShown)));
  for (const auto partition : {kCancelPartition, kClaimPartition}) {
    CO_TRY(co_await sweep(Rows::kNotes, now, before(partition, "Timestamp", now - kNotesKept)));
  }
  out.audit_entries = CO_TRY(co_await collect_audit(tables_, now - audit_retention_));
  co_return out;
}

Task<Result<std::uint64_t>> Collector::sweep(Rows rows, Time now, table_store::QueryRequest request) {
  std::uint64_t removed = 0;
  do {
    auto page = CO_TRY(co_await tables_.query(request));
    for (const auto& entity : page.entities) {
      if (!CO_TRY(co_await removable(rows, now, entity))) continue;
      if (CO_TRY(co_await remove(rows, entity))) ++removed;
    }
    request.continuation = std::move(page.continuation);
  } while (!request.continuation.empty());
  co_return removed;
}

Task<Result<bool>> Collector::removable(Rows rows, Time now, Entity entity) {
  if (rows == Rows::kWorkers || rows == Rows::kNotes) co_return true;
  if (rows == Rows::kKeys) {
    const auto* id = property<std::string>(entity, "JobId");
    if (id == nullptr) co_return false;
    auto job = CO_TRY(co_await tables_.get(std::string(kJobTable), std::string(kJobPartition), *id));
    co_return !job.has_value();
  }
  if (now - written_at(entity) < keep_of(entity, retention_)) co_return false;
  auto record = record_from_entity(entity);
  // An entity that somebody else put there must not be removed.
  if (!record || !is_terminal(record->state)) co_return false;
  if (CO_TRY(co_await is_asked_for(*record))) co_return false;
  // Without its record, a message would be taken for a job that was never done or cancelled.
  queue_service::MessageName message{record->message_id, record->receipt};
  const auto waits = CO_TRY(co_await queues_.holds(possible_queues(*record), std::move(message)));
  co_return !waits;
}

/// A client that submits the group again gets the jobs that the group had; so does a rule that reads a change again.
Task<Result<bool>> Collector::is_asked_for(JobRecord record) {
  const auto spec = parse_stored_spec(record.spec);
  if (spec && spec->cause && may_come_again_) co_return co_await may_come_again_(*spec->cause);
  if (!spec || !spec->group) co_return false;
  Groups groups(tables_, clock_);
  auto group = co_await groups.find(spec->group->id);
  if (group.failed_with(ErrorCode::kCorruption)) co_return false;  // it is no group
  co_return CO_TRY(std::move(group)).has_value();
}

Task<Result<void>> Collector::forget_operation(std::string id, std::string account) {
  const auto tables = tables_.as(account.empty() ? tables_.account() : account);
  CO_TRY(co_await tables->end_operation(id));
  co_return co_await tables->forget_operation(std::move(id));
}

/// The ledger that the queues have of a transaction fades once it is closed.
Task<Result<void>> Collector::close_messages(JobRecord record) {
  const auto spec = parse_stored_spec(record.spec);
  if (!spec || !reach_of(*spec).writes_messages) co_return Result<void>{};
  for (const auto& account : ledger_accounts(record)) {
    const auto queues = queues_.as(account.empty() ? queues_.account() : account);
    const auto closed = co_await queues->close_operation(record.id, INT64_MAX, record.edited_epoch);
    if (!closed && !closed.failed_with(ErrorCode::kFenced)) co_return fail(closed.error());
  }
  co_return Result<void>{};
}

Task<Result<bool>> Collector::remove(Rows rows, Entity entity) {
  if (rows == Rows::kJobs) {
    // Remove the ledgers first: a record that is left is found again, a ledger without a record never would be.
    const auto record = CO_TRY(record_from_entity(entity));
    for (const auto& account : ledger_accounts(record)) CO_TRY(co_await forget_operation(record.id, account));
    if (record.state == JobState::kPoisoned) CO_TRY(co_await close_messages(record));
  }
  auto gone = CO_TRY(co_await change_row(tables_, entity.partition_key, erasure_of(entity.row_key, entity.version)));
  co_return gone.has_value();
}

}  // namespace tidemark::jobs
