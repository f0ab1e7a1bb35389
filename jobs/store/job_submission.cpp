// Submissions: the queue of a job, idempotency keys, many jobs at once, groups.
#include "common/base/encoding.h"
#include "common/base/side_by_side.h"
#include "jobs/kinds/reach.h"
#include "jobs/store/endings.h"
#include "jobs/store/groups.h"
#include "jobs/store/job_store.h"
#include "jobs/store/rows.h"

namespace tidemark::jobs {
namespace {

// The protocol's limit on a visibility delay; a worker puts back a message that comes too early.
constexpr Duration kMaxDelay = std::chrono::hours(24 * 7);
constexpr std::size_t kSubmissionLanes = 32;

}  // namespace

Task<Result<std::string>> JobStore::reserve(std::string key_hash, std::string fingerprint, std::string fresh_id) {
  std::vector<table_store::Property> properties{{"JobId", fresh_id}, {"SpecSha256", fingerprint}};
  const auto inserted = CO_TRY(
      co_await change_row(tables_, std::string(kIdempotencyPartition), write_of(key_hash, {}, std::move(properties))));
  if (inserted.has_value()) co_return fresh_id;

  auto row = CO_TRY(co_await tables_.get(std::string(kJobTable), std::string(kIdempotencyPartition), key_hash));
  if (!row.has_value()) co_return fail(ErrorCode::kServerBusy);
  auto id = property_or<std::string>(*row, "JobId");
  if (!is_job_id(id)) co_return fail(ErrorCode::kCorruption, "The idempotency row does not name a job.");
  if (property_or<std::string>(*row, "SpecSha256") != fingerprint) co_return fail(ErrorCode::kIdempotencyKeyReused);
  co_return id;
}

Task<Result<queue_service::MessageName>> JobStore::put_message(std::string queue, queue_service::PutRequest message) {
  auto put = co_await queues_.put_named(queue, message);
  if (!put.failed_with(ErrorCode::kQueueNotFound)) co_return put;
  CO_TRY(co_await queues_.ensure_queue(queue));
  co_return co_await queues_.put_named(std::move(queue), std::move(message));
}

Task<Result<void>> JobStore::choose_queue(JobSpec& spec) {
  auto undone = reach_of(spec).undoes;
  if (undone.empty() || !spec.queue.empty() || spec.priority != Priority::kNormal) co_return Result<void>{};
  const auto record = CO_TRY(co_await find(std::move(undone)));
  if (record && is_own_queue(record->queue)) spec.queue = record->queue;
  co_return Result<void>{};
}

Task<Result<Submission>> JobStore::submit(JobSpec spec, std::string id) {
  CO_TRY(co_await choose_queue(spec));
  JobRecord record;
  record.id = id.empty() ? new_job_id(clock_.now(), random_) : id;
  record.kind = std::string(kind_name(spec));
  record.spec = canonical_text(spec);
  record.queue = name_of_queue(queue_of(spec));
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
  // A rule rarely makes a job twice; then the message and the record that are there already stay.
  if (!id.empty() && !spec.cause) {
    auto existing = CO_TRY(co_await find(id));
    if (existing.has_value()) co_return Submission{std::move(*existing), false};
  }
  const auto delay = spec.not_before ? *spec.not_before - record.submitted_at : Duration::zero();
  auto message = message_of(record.id, spec);
  message.delay = std::clamp<Duration>(delay, Duration::zero(), kMaxDelay);
  message.idempotency_key = std::move(id);
  auto put = CO_TRY(co_await put_message(queue_of(spec), std::move(message)));
  record.message_id = std::move(put.id);
  record.receipt = std::move(put.receipt);
  // A worker, or the same submission sent twice, may have been faster: the existing record is then the job.
  auto stored = CO_TRY(co_await insert(std::move(record)));
  co_return Submission{std::move(stored.first), true};
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
  co_return co_await submit_all(std::move(batch.specs), std::move(ids));
}

Task<std::vector<Result<Submission>>> JobStore::submit_all(std::vector<JobSpec> specs, std::vector<std::string> ids) {
  std::vector<Result<Submission>> outcomes(specs.size(), fail(ErrorCode::kInternalError));
  const auto submit_one = [&](std::size_t i) -> Task<Result<void>> {
    outcomes[i] = co_await submit(std::move(specs[i]), ids.empty() ? std::string() : std::move(ids[i]));
    co_return Result<void>{};
  };
  std::ignore = co_await side_by_side(clock_, specs.size(), submit_one, kSubmissionLanes);  // each has its own outcome
  co_return outcomes;
}

}  // namespace tidemark::jobs
