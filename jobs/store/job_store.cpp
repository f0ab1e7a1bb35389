#include "jobs/store/job_store.h"

#include "common/base/encoding.h"
#include "jobs/kinds/reach.h"
#include "jobs/store/endings.h"
#include "jobs/store/rows.h"

namespace tidemark::jobs {
namespace {

using table_store::Entity;
using table_store::Mutation;

// A record is changed by its worker and, rarely, by a person; losing this often means that something else is wrong.
constexpr int kMaxRaces = 16;
// The protocol's limit on a visibility delay; a worker puts a message that comes too early back again.
constexpr Duration kMaxDelay = std::chrono::hours(24 * 7);
constexpr std::size_t kSubmissionLanes = 32;

std::unexpected<Error> contended(const std::string& id) {
  return fail(ErrorCode::kServerBusy, "The record of job " + id + " is being changed by others. Please retry.");
}

void apply(const RecordChange& change, Time now, JobRecord& record) {
  if (change.state) {
    record.state = *change.state;
    if (is_terminal(*change.state)) record.finished_at = now;
  }
  // Until its end a job's figures only rise: a delivery that takes over from an older checkpoint tells, for a while,
  // less than what was reached.
  const bool behind = !change.state && change.skipped.value_or(record.skipped) < record.skipped;
  if (change.done) record.done = change.state ? *change.done : std::max(record.done, *change.done);
  if (change.skipped && !behind) record.skipped = *change.skipped;
  if (change.total) record.total = *change.total;
  if (change.attempts) record.attempts = *change.attempts;
  if (change.phase) record.phase = *change.phase;
  if (change.error) record.error = *change.error;
  if (change.skips && !behind) record.skips = *change.skips;
  if (change.result) record.result = *change.result;
  if (change.attempt) record.history.push_back(*change.attempt);
}

/// The attempt that was under way, which cannot tell of itself any more.
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

/// The record as a delivery takes it over.
void take(const Delivery& delivery, Time now, JobRecord& record) {
  // One that gave the job back uncounted, and could not say so here, is not lost.
  const bool counted = record.attempts < delivery.attempt;
  if (record.state == JobState::kRunning && record.epoch != 0 && record.epoch < delivery.epoch && counted) {
    record.history.push_back(attempt_cut_off(record, now, "lost"));
  }
  add_marks(record.history, delivery.story);
  record.claimed_at = now;
  record.not_before = delivery.not_before;
  record.state = JobState::kRunning;
  record.epoch = delivery.epoch;
  record.attempts = delivery.attempt;
  record.worker = delivery.worker;
  // A redrive may have brought another spec, and this delivery may be faster than the redrive's own note of it.
  if (record.spec.empty() || delivery.kind != "unknown") {
    record.kind = delivery.kind;
    record.spec = delivery.spec;
  }
  if (!record.started_at) record.started_at = now;
  record.finished_at.reset();
}

/// Of a job whose submission did not get as far as its record.
JobRecord missing_record(const Delivery& delivery) {
  JobRecord record;
  record.id = delivery.job_id;
  record.message_id = delivery.message_id;
  record.submitted_at = delivery.message_inserted;
  return record;
}

Mutation insertion_of(const JobRecord& record) { return write_of(record.id, {}, record_properties(record)); }

/// Of the version it was read at.
Mutation replacement_of(const JobRecord& record) {
  return write_of(record.id, record.version, record_properties(record));
}

std::optional<ClaimVerdict> refusal(const JobRecord& record, const Delivery& delivery) {
  if (record.message_id != delivery.message_id) return ClaimVerdict::kDuplicate;
  if (delivery.epoch < record.epoch) return ClaimVerdict::kStale;
  if (record.state == JobState::kSucceeded || record.state == JobState::kCancelled) return ClaimVerdict::kEnded;
  if (!transition_allowed(record.state, record.epoch, JobState::kRunning, delivery.epoch)) return ClaimVerdict::kStale;
  return std::nullopt;
}

}  // namespace

Task<Result<void>> JobStore::ensure_ready() {
  auto table = co_await tables_.create_table(std::string(kJobTable));
  if (!table && table.error().code != ErrorCode::kTableAlreadyExists) co_return fail(std::move(table.error()));
  for (const auto name : {kHighQueue, kJobQueue, kLowQueue, kPoisonQueue}) {
    CO_TRY(co_await queues_.ensure_queue(std::string(name)));
  }
  co_return Result<void>{};
}

Task<Result<std::string>> JobStore::reserve(std::string key_hash, std::string fingerprint, std::string fresh_id) {
  std::vector<table_store::Property> properties{{"JobId", fresh_id}, {"SpecSha256", fingerprint}};
  auto insert_task =
      change_row(tables_, std::string(kIdempotencyPartition), write_of(key_hash, {}, std::move(properties)));
  auto inserted = CO_TRY(co_await std::move(insert_task));
  if (inserted.has_value()) co_return fresh_id;

  auto row = CO_TRY(co_await tables_.get(std::string(kJobTable), std::string(kIdempotencyPartition), key_hash));
  if (!row.has_value()) co_return fail(ErrorCode::kServerBusy);
  auto id = property_or<std::string>(*row, "JobId");
  if (!is_job_id(id)) co_return fail(ErrorCode::kCorruption, "The idempotency row does not name a job.");
  if (property_or<std::string>(*row, "SpecSha256") != fingerprint) co_return fail(ErrorCode::kIdempotencyKeyReused);
  co_return id;
}

Task<Result<Submission>> JobStore::submit(JobSpec spec, std::string id) {
  JobRecord record;
  record.id = id.empty() ? new_job_id(clock_.now(), random_) : id;
  record.kind = std::string(kind_name(spec));
  record.spec = canonical_text(spec);
  record.submitted_at = clock_.now();
  record.not_before = spec.not_before;
  if (!spec.idempotency_key.empty()) {
    auto key_hash = hex_encode(sha256(spec.idempotency_key));
    auto reserved = CO_TRY(co_await reserve(std::move(key_hash), spec_fingerprint(spec), record.id));
    if (reserved != record.id) {
      auto existing = CO_TRY(co_await find(reserved));
      if (existing.has_value()) co_return Submission{std::move(*existing), false};
      record.id = reserved;  // reserved by a submission that did not get further
    }
  }
  if (!id.empty()) {
    auto existing = CO_TRY(co_await find(id));
    if (existing.has_value()) co_return Submission{std::move(*existing), false};
  }
  const auto delay = spec.not_before ? *spec.not_before - record.submitted_at : Duration::zero();
  queue_service::PutRequest message;
  message.text = job_message_text(record.id, spec);
  message.delay = std::clamp<Duration>(delay, Duration::zero(), kMaxDelay);
  message.idempotency_key = std::move(id);
  record.message_id = CO_TRY(co_await queues_.put(std::string(queue_of(spec.priority)), std::move(message)));
  // A worker, or the same submission sent twice, may have been faster: what is there then is the job.
  auto stored = CO_TRY(co_await insert(std::move(record)));
  co_return Submission{std::move(stored.first), true};
}

Task<Result<std::optional<JobRecord>>> JobStore::find(std::string id) {
  auto entity = CO_TRY(co_await tables_.get(std::string(kJobTable), std::string(kJobPartition), std::move(id)));
  if (!entity.has_value()) co_return std::optional<JobRecord>();
  auto record = CO_TRY(record_from_entity(*entity));
  co_return std::optional<JobRecord>(std::move(record));
}

Task<Result<std::vector<std::optional<JobRecord>>>> JobStore::find_all(std::vector<std::string> ids) {
  auto entities = CO_TRY(co_await tables_.get_all(std::string(kJobTable), std::string(kJobPartition), std::move(ids)));
  std::vector<std::optional<JobRecord>> records;
  for (const auto& entity : entities) {
    auto& record = records.emplace_back();
    if (!entity) continue;
    record = CO_TRY(record_from_entity(*entity));
  }
  co_return records;
}

namespace {

struct SubmissionLanes {
  std::vector<JobSpec> specs;
  std::vector<std::string> ids;  // or none
  std::vector<Result<Submission>> outcomes;
  std::size_t next = 0;
  std::size_t running = 0;
  Signal ended;
};

Task<void> submit_lane(JobStore& store, SubmissionLanes& lanes) {
  while (lanes.next < lanes.specs.size()) {
    const auto place = lanes.next++;
    auto id = lanes.ids.empty() ? std::string() : std::move(lanes.ids[place]);
    lanes.outcomes[place] = co_await store.submit(std::move(lanes.specs[place]), std::move(id));
  }
  --lanes.running;
  lanes.ended.notify_all();
}

}  // namespace

Task<std::vector<Result<Submission>>> JobStore::submit_all(std::vector<JobSpec> specs) {
  return submit_side_by_side(std::move(specs), {});
}

Task<Result<std::vector<Result<Submission>>>> JobStore::submit_group(JobBatch batch) {
  Group group;
  group.id = batch.group;
  group.members = static_cast<std::uint32_t>(batch.specs.size());
  group.fingerprint = batch_fingerprint(batch);
  group.submitted_at = clock_.now();
  group.on_end = std::move(batch.on_end);
  Groups groups(tables_, clock_);
  auto created = CO_TRY(co_await groups.create(std::move(group)));
  std::vector<std::string> ids;
  for (std::uint32_t i = 0; i < created.members; ++i) {
    batch.specs[i].group = GroupMember{created.id, i};
    ids.push_back(member_job_id(created, i));
  }
  co_return co_await submit_side_by_side(std::move(batch.specs), std::move(ids));
}

Task<std::vector<Result<Submission>>> JobStore::submit_side_by_side(std::vector<JobSpec> specs,
                                                                    std::vector<std::string> ids) {
  // All lanes run on the caller's executor, which must be one strand or thread.
  auto strand = co_await asio::this_coro::executor;
  SubmissionLanes lanes;
  lanes.specs = std::move(specs);
  lanes.ids = std::move(ids);
  for (std::size_t i = 0; i < lanes.specs.size(); ++i) lanes.outcomes.emplace_back(fail(ErrorCode::kInternalError));
  lanes.running = std::min(kSubmissionLanes, lanes.specs.size());
  for (auto i = lanes.running; i > 0; --i) {
    auto lane = submit_lane(*this, lanes);
    spawn(strand, std::move(lane));
  }
  while (lanes.running > 0) {
    co_await lanes.ended.wait(clock_, std::chrono::hours(1));
  }
  co_return std::move(lanes.outcomes);
}

Task<Result<JobPage>> JobStore::list(std::uint32_t limit, std::string continuation, std::string kind,
                                     std::string state) {
  auto request = rows_of(kJobPartition);
  if (!kind.empty()) request.filter += " and Kind eq '" + kind + "'";
  if (!state.empty()) request.filter += " and State eq '" + state + "'";
  request.top = std::clamp<std::uint32_t>(limit, 1, 1000);
  request.continuation = std::move(continuation);
  auto page = CO_TRY(co_await tables_.query(std::move(request)));
  JobPage out;
  out.continuation = std::move(page.continuation);
  for (const auto& entity : page.entities) {
    // The table is open to every SDK; a row that somebody else put there must not hide the jobs.
    if (auto record = record_from_entity(entity)) out.jobs.push_back(std::move(*record));
  }
  co_return out;
}

Task<Result<JobRecord>> JobStore::cancel(std::string id) {
  auto record = CO_TRY(co_await end_as_cancelled(std::move(id)));
  if (record.state != JobState::kCancelled) co_return record;
  auto spec = spec_of(record);
  const auto ledger = CO_TRY(co_await close_operation(record.id, spec));
  record = CO_TRY(co_await tell_done(std::move(record), ledger));
  // Not left to the worker that will drop the message, for that may be days from now.
  if (spec) {
    Endings endings(tables_, queues_, clock_);
    CO_TRY(co_await endings.tell(record, std::move(*spec)));
  }
  co_return record;
}

Task<Result<JobRecord>> JobStore::end_as_cancelled(std::string id) {
  for (int race = 0; race < kMaxRaces; ++race) {
    auto found = CO_TRY(co_await find(id));
    if (!found.has_value()) co_return fail(ErrorCode::kJobNotFound);
    auto record = std::move(*found);
    if (is_terminal(record.state)) co_return record;
    RecordChange change;
    if (record.state == JobState::kRunning) change.attempt = attempt_cut_off(record, clock_.now(), "cancelled");
    change.state = JobState::kCancelled;
    apply(change, clock_.now(), record);
    auto replaced = CO_TRY(co_await replace(std::move(record)));
    if (replaced.has_value()) co_return std::move(*replaced);
  }
  co_return contended(id);
}

Task<Result<JobRecord>> JobStore::tell_done(JobRecord record, const table_store::OperationLedger& ledger) {
  const auto counted = ledger.counter(record.kind == "copy" ? kWritten : kDone);
  for (int race = 0; race < kMaxRaces; ++race) {
    // What the worker told last is older than the ledger. Of a job that the ledger does not count, it is all there is.
    if (record.done >= counted) co_return record;
    record.done = counted;
    auto id = record.id;
    auto replaced = CO_TRY(co_await replace(std::move(record)));
    if (replaced.has_value()) co_return std::move(*replaced);
    auto found = CO_TRY(co_await find(id));
    if (!found.has_value()) co_return fail(ErrorCode::kJobNotFound);
    record = std::move(*found);
  }
  co_return contended(record.id);
}

Task<Result<table_store::OperationLedger>> JobStore::close_operation(std::string id, std::optional<JobSpec> spec) {
  auto ledger = co_await tables_.close_operation(id, INT64_MAX);
  // Its worker had just closed it: all that it did is in there.
  if (ledger.failed_with(ErrorCode::kFenced)) ledger = co_await tables_.read_operation(id);
  // Not of every job: the blob store may be away, or not be there at all.
  if (!ledger || blobs_ == nullptr || !spec) co_return ledger;
  auto reach = co_await resolve(*this, reach_of(*spec));
  if (!reach && http_status_of(reach.error().code) >= 500) co_return fail(std::move(reach.error()));
  if (!reach || !reach->writes_blobs) co_return ledger;
  auto blobs_closed = co_await blobs_->close_operation(std::move(id), INT64_MAX);
  if (!blobs_closed && blobs_closed.error().code != ErrorCode::kFenced) co_return fail(std::move(blobs_closed.error()));
  co_return ledger;
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
    auto replaced = CO_TRY(co_await replace(std::move(record)));
    if (replaced.has_value()) co_return Claim{ClaimVerdict::kRun, std::move(*replaced)};
  }
  co_return contended(delivery.job_id);
}

Task<Result<JobRecord>> JobStore::change(std::string id, std::uint64_t epoch, RecordChange change,
                                         std::optional<JobRecord> seen) {
  for (int race = 0; race < kMaxRaces; ++race) {
    if (!seen) {
      auto found = CO_TRY(co_await find(id));
      if (!found.has_value()) co_return fail(ErrorCode::kJobNotFound);
      seen = std::move(found);
    }
    auto record = std::move(*std::exchange(seen, std::nullopt));
    const auto target = change.state.value_or(record.state);
    const bool repeated = change.state && record.state == target && record.epoch == epoch && is_terminal(target);
    if (repeated) co_return record;
    if (!transition_allowed(record.state, record.epoch, target, epoch)) {
      auto error = make_error(ErrorCode::kFenced);
      error.fields.emplace_back("state", std::string(state_name(record.state)));
      co_return fail(std::move(error));
    }
    record.epoch = std::max(record.epoch, epoch);
    apply(change, clock_.now(), record);
    auto replaced = CO_TRY(co_await replace(std::move(record)));
    if (replaced.has_value()) co_return std::move(*replaced);
  }
  co_return contended(id);
}

std::optional<table_store::Companion> JobStore::end_at_once(std::optional<JobRecord> found, const Delivery& delivery,
                                                            const RecordChange& change) const {
  const bool known = found.has_value();
  auto record = known ? std::move(*found) : missing_record(delivery);
  if (record.state != JobState::kQueued || refusal(record, delivery)) return std::nullopt;
  const auto now = clock_.now();
  take(delivery, now, record);
  apply(change, now, record);
  table_store::Companion companion{std::string(kJobTable), std::string(kJobPartition), {}};
  companion.mutation = known ? replacement_of(record) : insertion_of(record);
  companion.mutation.lenient = false;
  return companion;
}

Task<Result<void>> JobStore::requeue(JobRecord seen, std::optional<JobSpec> edited, std::vector<Attempt> story) {
  if (!transition_allowed(seen.state, seen.epoch, JobState::kQueued, 0)) co_return Result<void>{};
  seen.state = JobState::kQueued;
  seen.attempts = 0;
  seen.finished_at.reset();
  add_marks(seen.history, story);
  if (edited) {
    seen.kind = std::string(kind_name(*edited));
    seen.spec = canonical_text(*edited);
  }
  CO_TRY(co_await replace(std::move(seen)));
  co_return Result<void>{};
}

Task<Result<std::pair<JobRecord, bool>>> JobStore::insert(JobRecord record) {
  auto inserted = CO_TRY(co_await change_row(tables_, std::string(kJobPartition), insertion_of(record)));
  if (inserted.has_value()) {
    record.version = *inserted;
    co_return std::pair<JobRecord, bool>(std::move(record), true);
  }
  auto existing = CO_TRY(co_await find(record.id));
  if (!existing.has_value()) co_return contended(record.id);
  co_return std::pair<JobRecord, bool>(std::move(*existing), false);
}

Task<Result<std::optional<JobRecord>>> JobStore::replace(JobRecord record) {
  auto replaced = CO_TRY(co_await change_row(tables_, std::string(kJobPartition), replacement_of(record)));
  if (!replaced.has_value()) co_return std::optional<JobRecord>();
  record.version = *replaced;
  co_return std::optional<JobRecord>(std::move(record));
}

}  // namespace tidemark::jobs
