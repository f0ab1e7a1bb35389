#include "jobs/store/job_store.h"

#include <set>

#include "jobs/kinds/reach.h"
#include "jobs/kinds/transaction/filled_steps.h"
#include "jobs/store/cancel_notices.h"
#include "jobs/store/end_steps.h"
#include "jobs/store/endings.h"
#include "jobs/store/rows.h"
#include "jobs/store/test_switches.h"
#include "table_store/model/user_operations.h"

namespace tidemark::jobs {
namespace {

using table_store::Entity;
using table_store::Mutation;

// A record is changed by its worker and, rarely, by a person; losing this often means that something else is wrong.
constexpr int kMaxRaces = 16;
// A caller who cancels a job should not have to wait for a store that is away.
constexpr Duration kWaitForBlobs = std::chrono::seconds(1);

std::unexpected<Error> contended(const std::string& id) {
  return fail(ErrorCode::kServerBusy, "The record of job " + id + " is being changed by others. Please retry.");
}

void apply(const RecordChange& change, Time now, JobRecord& record) {
  if (change.state) {
    record.state = *change.state;
    if (is_terminal(*change.state)) record.finished_at = now;
  }
  // Until its success a job's figures only rise: a delivery that continues from an older checkpoint reports, for a
  // while, less than was reached, and some kinds count in no ledger.
  const bool succeeded = change.state == JobState::kSucceeded;
  const bool behind = !change.state && change.skipped.value_or(record.skipped) < record.skipped;
  if (change.done) record.done = succeeded ? *change.done : std::max(record.done, *change.done);
  if (change.skipped && !behind) record.skipped = *change.skipped;
  if (change.total) record.total = change.total;
  if (change.attempts) record.attempts = *change.attempts;
  if (change.phase) record.phase = *change.phase;
  if (change.error) record.error = *change.error;
  if (change.skips && !behind) record.skips = *change.skips;
  if (change.result) record.result = *change.result;
  if (change.accounts) record.accounts = *change.accounts;
  if (change.checkpoint) record.checkpoint = *change.checkpoint;
  if (change.queue) record.queue = *change.queue;
  if (change.attempt) record.history.push_back(*change.attempt);
}

/// Returns the attempt that was under way, which can no longer report its own end.
Attempt attempt_cut_off(const JobRecord& record, Time now, std::string outcome) {
  Attempt attempt;
  attempt.number = record.attempts;
  attempt.worker = record.worker;
  attempt.started_at = record.claimed_at.value_or(record.submitted_at);
  attempt.duration_ms = std::chrono::duration_cast<std::chrono::milliseconds>(now - attempt.started_at).count();
  attempt.outcome = std::move(outcome);
  attempt.round = round_after(record.history);
  return attempt;
}

/// With another text, the job is another operation, whose figures begin anew; the history has the earlier ones.
void note_edit(std::uint64_t edited_epoch, JobRecord& record) {
  if (edited_epoch <= record.edited_epoch) return;
  record.edited_epoch = edited_epoch;
  record.done = record.skipped = record.done_before = 0;
  record.total.reset();
  for (auto* text : {&record.phase, &record.skips, &record.result, &record.checkpoint}) text->clear();
}

/// Changes the record for a delivery that takes it over.
void take(const Delivery& delivery, Time now, JobRecord& record) {
  // A delivery that gave the job back uncounted, and could not note that in the record, is not lost.
  const bool counted = record.attempts < delivery.attempt && record.epoch != record.end_epoch;
  if (record.state == JobState::kRunning && record.epoch != 0 && record.epoch < delivery.epoch && counted) {
    record.history.push_back(attempt_cut_off(record, now, "lost"));
  }
  add_marks(record.history, delivery.story);
  note_edit(delivery.edited_epoch, record);
  record.claimed_at = now;
  record.not_before = delivery.not_before;
  record.state = JobState::kRunning;
  record.queue = delivery.queue;
  record.part = delivery.part;
  record.epoch = delivery.epoch;
  record.attempts = delivery.attempt;
  record.worker = delivery.worker;
  record.receipt.clear();
  record.done_before = record.done;
  // A redrive may have brought another spec, and this delivery may be faster than the redrive's own note of it.
  if (record.spec.empty() || delivery.kind != "unknown") {
    record.kind = delivery.kind;
    record.spec = delivery.spec;
  }
  if (!record.started_at) record.started_at = now;
  record.finished_at.reset();
}

/// Returns the record of a job whose submission failed before it was written.
JobRecord missing_record(const Delivery& delivery) {
  JobRecord record;
  record.id = delivery.job_id;
  record.queue = delivery.queue;
  record.message_id = delivery.message_id;
  record.submitted_at = delivery.message_inserted;
  return record;
}

/// Makes a change in the name of a delivery; returns whether there is anything to write. kFenced.
Result<bool> make_change(JobRecord& record, std::uint64_t epoch, const RecordChange& change, Time now) {
  const auto target = change.state.value_or(record.state);
  const bool repeated = change.state && record.state == target && record.epoch == epoch;
  if (repeated && is_terminal(target)) return false;
  const bool has_ended = epoch != 0 && epoch <= record.end_epoch;
  const auto own_epoch = test_switches::ignore_record_epoch && epoch != 0 ? record.epoch : epoch;
  if (has_ended || !transition_allowed(record.state, record.epoch, target, own_epoch)) {
    auto error = make_error(ErrorCode::kFenced);
    error.fields.emplace_back("state", std::string(state_name(record.state)));
    return fail(std::move(error));
  }
  record.epoch = std::max(record.epoch, epoch);
  apply(change, now, record);
  if (change.end_steps) {
    record.end_steps = *change.end_steps;
    record.end_epoch = epoch;
  }
  return true;
}

/// Tells whether workers of users do the job.
bool is_own_job(const JobRecord& record) { return is_own_kind_name(record.kind); }

/// Inserts the record, or replaces the version that was read.
Mutation mutation_of(const JobRecord& record) {
  const auto seen = record.version == 0 ? std::nullopt : std::optional(record.version);
  return write_of(record.id, seen, record_properties(record));
}

std::optional<ClaimVerdict> refusal(const JobRecord& record, const Delivery& delivery) {
  if (record.message_id != delivery.message_id) return ClaimVerdict::kDuplicate;
  if (delivery.epoch < record.epoch) return ClaimVerdict::kStale;
  if (record.state == JobState::kSucceeded || record.state == JobState::kCancelled) return ClaimVerdict::kEnded;
  if (!record.end_steps.empty() && !delivery.takes_steps) return ClaimVerdict::kSteps;
  if (!transition_allowed(record.state, record.epoch, JobState::kRunning, delivery.epoch)) return ClaimVerdict::kStale;
  return std::nullopt;
}

}  // namespace

Task<Result<void>> JobStore::ensure_ready() {
  CO_TRY(co_await ensure_table(tables_, std::string(kJobTable)));
  for (auto& name : standing_queues()) {
    CO_TRY(co_await queues_.ensure_queue(std::move(name)));
  }
  co_return Result<void>{};
}

Task<Result<std::optional<JobRecord>>> JobStore::find(std::string id) {
  auto read = co_await tables_.get(std::string(kJobTable), std::string(kJobPartition), std::move(id));
  // The table was dropped. The next row that is written makes it again (change_row).
  if (read.failed_with(ErrorCode::kTableNotFound)) co_return std::nullopt;
  auto entity = CO_TRY(std::move(read));
  if (!entity) co_return std::nullopt;
  co_return CO_TRY(record_from_entity(*entity));
}

Task<Result<std::vector<std::optional<JobRecord>>>> JobStore::find_all(std::vector<std::string> ids) {
  auto entities = CO_TRY(co_await tables_.get_all(std::string(kJobTable), std::string(kJobPartition), std::move(ids)));
  std::vector<std::optional<JobRecord>> records;
  for (const auto& entity : entities) {
    auto& record = records.emplace_back();
    if (entity) record = CO_TRY(record_from_entity(*entity));
  }
  co_return records;
}

Task<Result<JobPage>> JobStore::list(std::uint32_t limit, std::string continuation, std::string kind, std::string state,
                                     std::string queue) {
  auto request = rows_of(kJobPartition);
  if (!kind.empty()) request.filter += " and Kind eq '" + kind + "'";
  if (!state.empty()) request.filter += " and State eq '" + state + "'";
  if (!queue.empty()) request.filter += " and Queue eq '" + queue + "'";
  request.top = std::clamp<std::uint32_t>(limit, 1, 1000);
  request.patience = kSearchPatience;
  request.continuation = std::move(continuation);
  auto read = co_await tables_.query(std::move(request));
  if (read.failed_with(ErrorCode::kTableNotFound)) co_return JobPage{};
  auto page = CO_TRY(std::move(read));
  JobPage out;
  out.continuation = std::move(page.continuation);
  out.searched = page.searched;
  for (const auto& entity : page.entities) {
    // The table is open to every SDK; a foreign row must not hide the jobs.
    if (auto record = record_from_entity(entity)) out.jobs.push_back(std::move(*record));
  }
  co_return out;
}

/// Changes the current record, at first as it was `seen`, until no other change is faster. `change` returns whether
/// there is anything to write.
template <class Change>
Task<Result<JobRecord>> JobStore::update(std::string id, std::optional<JobRecord> seen, Change change) {
  for (int race = 0; race < kMaxRaces; ++race) {
    if (!seen) seen = CO_TRY(co_await find(id));
    if (!seen) co_return fail(ErrorCode::kJobNotFound);
    auto record = std::move(*std::exchange(seen, std::nullopt));
    if (!CO_TRY(change(record))) co_return record;
    auto replaced = CO_TRY(co_await write(std::move(record)));
    if (replaced) co_return std::move(*replaced);
  }
  co_return contended(id);
}

Task<Result<void>> JobStore::withdraw(std::string id) {
  for (int race = 0; race < kMaxRaces; ++race) {
    const auto record = CO_TRY(co_await find(id));
    const bool is_open = record && !is_terminal(record->state);
    const auto spec = is_open ? work_left_of(*record) : fail(ErrorCode::kJobInvalid);
    const auto* transaction = spec ? std::get_if<TransactionSpec>(&spec->work) : nullptr;
    if (transaction == nullptr) co_return Result<void>{};
    table_store::StepsRequest request;
    request.fence = {id, record->epoch, {}, record->edited_epoch};
    request.deciding = table_store::Deciding::kWithdraws;
    request.at = CO_TRY(deciding_place(*transaction, id));
    auto reply = co_await tables_in(transaction->deciding_account())->take_steps(std::move(request));
    std::optional<Decision> decision;
    if (reply.failed_with(ErrorCode::kFenced)) {
      // A later delivery has it, which may have decided before it claimed the record, or it has just ended.
      decision = CO_TRY(co_await tables_in(transaction->deciding_account())->read_operation(id)).decision;
      if (!decision) continue;
    } else {
      const auto taken = CO_TRY(std::move(reply));
      const auto* decided = std::get_if<table_store::StepsTaken>(&taken);
      if (decided == nullptr || !decided->decision) co_return fail(ErrorCode::kInternalError);
      decision = decided->decision;
    }
    if (!decision->withdrawn) co_return fail(ErrorCode::kTransactionDecided);
    co_return Result<void>{};
  }
  co_return contended(id);
}

Task<Result<JobRecord>> JobStore::cancel(std::string id) {
  CO_TRY(co_await withdraw(id));
  bool has_worker = false;
  auto record = CO_TRY(co_await update(std::move(id), std::nullopt, [&](JobRecord& found) -> Result<bool> {
    if (is_terminal(found.state)) return false;
    has_worker = found.state == JobState::kRunning && found.end_steps.empty();
    RecordChange change;
    if (found.state == JobState::kRunning) change.attempt = attempt_cut_off(found, clock_.now(), "cancelled");
    change.state = JobState::kCancelled;
    apply(change, clock_.now(), found);
    return true;
  }));
  if (has_worker && is_own_job(record)) {
    // If it fails, the worker learns of it with its next sign of life.
    std::ignore = co_await CancelNotices(tables_).put(record);
  }
  co_return co_await settle(std::move(record));
}

Task<Result<JobRecord>> JobStore::stop(std::string id, std::uint64_t epoch, Attempt failed) {
  auto record = CO_TRY(co_await update(std::move(id), std::nullopt, [&](JobRecord& found) -> Result<bool> {
    if (is_terminal(found.state)) return false;
    if (found.epoch > epoch) return fail(ErrorCode::kFenced);
    RecordChange change;
    change.error = failed.message;
    change.attempt = failed;
    change.state = JobState::kCancelled;
    apply(change, clock_.now(), found);
    return true;
  }));
  co_return co_await settle(std::move(record));
}

Task<Result<JobRecord>> JobStore::settle(JobRecord record) {
  if (record.state != JobState::kCancelled) co_return record;
  auto spec = work_left_of(record);
  if (is_own_job(record) && record.epoch > 0) {
    CO_TRY(co_await tables_.end_operation(std::string(table_store::kUserOperation) + record.id));
  }
  const auto ledger = CO_TRY(co_await close_operation(record));
  const auto counted = ledger.counter(counter_of_work(record.kind));
  record = CO_TRY(co_await update(record.id, record, [counted](JobRecord& found) -> Result<bool> {
    // The worker's last report is older than the ledger. For a job that no ledger counts, the report is all there is.
    if (found.done >= counted) return false;
    found.done = counted;
    return true;
  }));
  if (!spec) co_return record;
  // The worker that will drop the message does not report this end, for that may be days from now.
  Endings endings(tables_, queues_, clock_);
  CO_TRY(co_await endings.tell(record, *spec));
  // If the blob store is away, the worker that gets the message closes the operation there.
  if (!co_await close_blobs(record, *spec)) co_return record;
  // If a worker holds the message, or if it could not be reached now, a worker drops it.
  queue_service::MessageName message{record.message_id, record.receipt};
  std::ignore = co_await queues_.withdraw(possible_queues(record), std::move(message));
  co_return record;
}

Task<Result<bool>> JobStore::is_gone(JobRecord seen) {
  if (CO_TRY(co_await queues_.holds(possible_queues(seen), {seen.message_id}))) co_return false;
  // Before a message goes to another queue, the record changes.
  const auto since = CO_TRY(co_await find(seen.id));
  co_return since.has_value() && since->version == seen.version;
}

std::shared_ptr<table_store::TableClient> JobStore::tables_in(const std::string& account) const {
  if (!account.empty() && account != this->account()) return tables_.as(account);
  return {std::shared_ptr<void>(), &tables_};
}

Task<Result<table_store::OperationLedger>> JobStore::close_operation(const JobRecord& record) {
  std::optional<table_store::OperationLedger> counting;
  for (const auto& account : ledger_accounts(record)) {
    const auto tables = tables_in(account);
    auto ledger = co_await tables->close_operation(record.id, INT64_MAX, record.edited_epoch);
    // The worker had just closed it: the ledger has everything that it did.
    if (ledger.failed_with(ErrorCode::kFenced)) ledger = co_await tables->read_operation(record.id);
    if (!ledger) co_return ledger;
    if (!counting) counting = std::move(*ledger);
  }
  co_return std::move(*counting);
}

Task<Result<void>> JobStore::close_blobs(const JobRecord& record, const JobSpec& spec) {
  // Not done for every job: the blob store may be away, or may not exist at all.
  if (blobs_ == nullptr || record.epoch == 0) co_return Result<void>{};
  auto reach = co_await resolve(*this, reach_of(spec));
  if (!reach && http_status_of(reach.error().code) >= 500) co_return fail(std::move(reach.error()));
  if (!reach || !reach->writes_blobs) co_return Result<void>{};
  for (const auto& account : ledger_accounts(record)) {
    const auto blobs = blobs_->as(account.empty() ? blobs_->account() : account);
    auto closed = co_await blobs->close_for_good(record.id, record.edited_epoch, kWaitForBlobs);
    if (!closed && closed.error().code != ErrorCode::kFenced) co_return fail(std::move(closed.error()));
  }
  co_return Result<void>{};
}

Task<Result<void>> JobStore::settle_cancelled(JobRecord record) {
  if (record.state != JobState::kCancelled) co_return Result<void>{};
  const auto spec = work_left_of(record);
  if (!spec) co_return Result<void>{};
  co_return co_await close_blobs(record, *spec);
}

Task<Result<void>> JobStore::count_cancelled(std::string id, std::uint64_t epoch, std::uint64_t done) {
  CO_TRY(co_await update(std::move(id), std::nullopt, [=](JobRecord& found) -> Result<bool> {
    if (found.state != JobState::kCancelled || found.epoch != epoch) return false;
    found.done = std::max(found.done, done);
    found.phase = kStoppedPhase;
    return true;
  }));
  co_return Result<void>{};
}

Task<Result<JobRecord>> JobStore::meet(Delivery delivery) {
  auto found = CO_TRY(co_await find(delivery.job_id));
  if (found && found->message_id != delivery.message_id) co_return std::move(*found);
  if (found) co_return co_await place(std::move(*found), std::move(delivery.queue));
  auto record = missing_record(delivery);
  record.kind = std::move(delivery.kind);
  record.spec = std::move(delivery.spec);
  record.not_before = delivery.not_before;
  auto stored = CO_TRY(co_await insert(std::move(record)));
  co_return std::move(stored.first);
}

Task<Result<JobRecord>> JobStore::place(JobRecord seen, std::string queue) {
  auto id = seen.id;
  co_return co_await update(std::move(id), std::move(seen), [&](JobRecord& record) -> Result<bool> {
    if (record.queue == queue) return false;
    record.queue = queue;
    return true;
  });
}

Task<Result<Claim>> JobStore::claim(Delivery delivery) {
  for (int race = 0; race < kMaxRaces; ++race) {
    auto found = CO_TRY(co_await find(delivery.job_id));
    if (!found.has_value()) {
      auto record = missing_record(delivery);
      take(delivery, clock_.now(), record);
      auto stored = CO_TRY(co_await insert(std::move(record)));
      if (stored.second) co_return Claim{ClaimVerdict::kRun, std::move(stored.first)};
      continue;  // the submission was faster
    }
    auto record = std::move(*found);
    if (auto verdict = refusal(record, delivery)) co_return Claim{*verdict, std::move(record)};
    take(delivery, clock_.now(), record);
    auto replaced = CO_TRY(co_await write(std::move(record)));
    if (replaced.has_value()) co_return Claim{ClaimVerdict::kRun, std::move(*replaced)};
  }
  co_return contended(delivery.job_id);
}

Task<Result<JobRecord>> JobStore::change(std::string id, std::uint64_t epoch, RecordChange change,
                                         std::optional<JobRecord> seen) {
  return update(std::move(id), std::move(seen), [this, epoch, change = std::move(change)](JobRecord& record) {
    return make_change(record, epoch, change, clock_.now());
  });
}

Task<std::vector<Result<JobRecord>>> JobStore::change_all(std::vector<ChangeOf> changes) {
  std::vector<Result<JobRecord>> out(changes.size(), fail(ErrorCode::kInternalError));
  std::vector<JobRecord> changed;
  std::vector<std::size_t> together, alone;  // places in `changes`
  std::set<std::string> ids;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const auto& [id, epoch, change, seen] = changes[i];
    if (!seen || !ids.insert(id).second) {
      alone.push_back(i);
      continue;
    }
    auto record = *seen;
    const auto differs = make_change(record, epoch, change, clock_.now());
    if (!differs) {
      alone.push_back(i);  // it may be allowed by now
    } else if (!*differs) {
      out[i] = std::move(record);
    } else {
      changed.push_back(std::move(record));
      together.push_back(i);
    }
  }
  if (!changed.empty()) {
    auto written = co_await write_all(std::move(changed));
    for (std::size_t n = 0; n < together.size(); ++n) {
      if (written && (*written)[n]) {
        out[together[n]] = std::move(*(*written)[n]);
      } else {
        alone.push_back(together[n]);
      }
    }
  }
  for (const auto i : alone) {
    auto& each = changes[i];
    out[i] = co_await change(std::move(each.id), each.epoch, std::move(each.change));
  }
  co_return out;
}

Task<std::vector<Result<Claim>>> JobStore::claim_all(std::vector<Delivery> deliveries) {
  std::vector<Result<Claim>> out(deliveries.size(), fail(ErrorCode::kInternalError));
  std::vector<std::string> ids;
  for (const auto& delivery : deliveries) ids.push_back(delivery.job_id);
  auto found = co_await find_all(std::move(ids));
  std::vector<JobRecord> claimed;
  std::vector<std::size_t> together, alone;  // places in `deliveries`
  std::set<std::string> seen;
  for (std::size_t i = 0; i < deliveries.size(); ++i) {
    const auto& delivery = deliveries[i];
    if (!found || !seen.insert(delivery.job_id).second) {
      alone.push_back(i);
      continue;
    }
    auto record = (*found)[i] ? std::move(*(*found)[i]) : missing_record(delivery);
    if (const auto verdict = refusal(record, delivery)) {
      out[i] = Claim{*verdict, std::move(record)};
      continue;
    }
    take(delivery, clock_.now(), record);
    claimed.push_back(std::move(record));
    together.push_back(i);
  }
  if (!claimed.empty()) {
    auto written = co_await write_all(std::move(claimed));
    for (std::size_t n = 0; n < together.size(); ++n) {
      if (written && (*written)[n]) {
        out[together[n]] = Claim{ClaimVerdict::kRun, std::move(*(*written)[n])};
      } else {
        alone.push_back(together[n]);
      }
    }
  }
  for (const auto i : alone) out[i] = co_await claim(std::move(deliveries[i]));
  co_return out;
}

std::optional<table_store::Companion> JobStore::end_at_once(std::optional<JobRecord> found, const Delivery& delivery,
                                                            const RecordChange& change) const {
  auto record = found ? std::move(*found) : missing_record(delivery);
  if (record.state != JobState::kQueued || refusal(record, delivery)) return std::nullopt;
  const auto now = clock_.now();
  take(delivery, now, record);
  apply(change, now, record);
  table_store::Companion companion{std::string(kJobTable), std::string(kJobPartition), {}};
  companion.mutation = mutation_of(record);
  companion.mutation.lenient = false;
  return companion;
}

Task<Result<void>> JobStore::requeue(JobRecord seen, std::optional<JobSpec> edited, std::uint64_t edited_epoch,
                                     std::vector<Attempt> story) {
  if (!transition_allowed(seen.state, seen.epoch, JobState::kQueued, 0)) co_return Result<void>{};
  seen.state = JobState::kQueued;
  seen.attempts = 0;
  seen.finished_at.reset();
  add_marks(seen.history, story);
  note_edit(edited_epoch, seen);
  if (edited) {
    seen.kind = std::string(kind_name(*edited));
    seen.spec = canonical_text(*edited);
  }
  CO_TRY(co_await write(std::move(seen)));
  co_return Result<void>{};
}

Task<Result<std::pair<JobRecord, bool>>> JobStore::insert(JobRecord record) {
  const auto id = record.id;
  auto inserted = CO_TRY(co_await write(std::move(record)));
  if (inserted) co_return std::pair<JobRecord, bool>(std::move(*inserted), true);
  auto existing = CO_TRY(co_await find(id));
  if (!existing) co_return contended(id);
  co_return std::pair<JobRecord, bool>(std::move(*existing), false);
}

Task<Result<std::vector<std::optional<JobRecord>>>> JobStore::write_all(std::vector<JobRecord> records) {
  std::vector<Mutation> mutations;
  for (const auto& record : records) mutations.push_back(mutation_of(record));
  const auto outcomes = CO_TRY(
      co_await tables_.mutate(std::string(kJobTable), std::string(kJobPartition), std::move(mutations), std::nullopt));
  std::vector<std::optional<JobRecord>> out(records.size());
  for (std::size_t i = 0; i < records.size() && i < outcomes.size(); ++i) {
    if (outcomes[i].kind != table_store::WriteOutcome::kApplied) continue;
    records[i].version = outcomes[i].version;
    out[i] = std::move(records[i]);
  }
  co_return out;
}

Task<Result<std::optional<JobRecord>>> JobStore::write(JobRecord record) {
  auto replaced = CO_TRY(co_await change_row(tables_, std::string(kJobPartition), mutation_of(record)));
  if (!replaced.has_value()) co_return std::optional<JobRecord>();
  record.version = *replaced;
  co_return std::optional<JobRecord>(std::move(record));
}

}  // namespace tidemark::jobs
