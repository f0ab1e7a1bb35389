// Claims: from messages to jobs that a worker may do.
#include "common/base/fail_points.h"
#include "common/base/side_by_side.h"
#include "jobs/work/work.h"
#include "table_store/model/user_operations.h"

namespace tidemark::jobs {
namespace {

const FailStep kClaimStep("work.claim");

constexpr std::size_t kOddAtOnce = 16;
constexpr Duration kAfterTrouble = std::chrono::milliseconds(200);
// The protocol's limit for a visibility delay.
constexpr Duration kLongestPutOff = std::chrono::hours(24 * 7);

/// A message as it was read.
struct Read {
  Result<JobMessage> parsed = fail(ErrorCode::kJobInvalid);
  MessageStory story;
  std::string job_id;
};

Read read_message(const queue_service::Message& message) {
  Read read{parse_job_message(message.text), parse_story(message.annotation), {}};
  read.job_id = job_id_of(message, read.parsed, read.story);
  return read;
}

/// Tells whether there is nothing to do but to claim the job.
bool is_plain(const Read& read, const std::string& queue, Time now) {
  if (read.story.giving_up || !read.parsed) return false;
  const auto& spec = read.parsed->spec;
  return queue_of(spec) == queue && (!spec.not_before || *spec.not_before <= now);
}

Delivery delivery_from(const TakenMessage& taken, const Read& read, const std::string& queue) {
  const auto spec = read.parsed ? std::optional(read.parsed->spec) : std::nullopt;
  auto delivery = delivery_of(taken.message, read.job_id, spec, taken.worker);
  delivery.story = read.story.attempts;
  delivery.edited_epoch = read.story.edited_epoch;
  delivery.queue = name_of_queue(queue);
  delivery.part = taken.message.part;
  return delivery;
}

}  // namespace

Task<std::vector<std::optional<ClaimedJob>>> Work::claim(std::string queue, std::vector<TakenMessage> taken) {
  std::vector<std::optional<ClaimedJob>> out(taken.size());
  std::vector<Read> read;
  std::vector<Delivery> deliveries;
  std::vector<std::size_t> plain, odd;  // places in `taken`
  for (std::size_t i = 0; i < taken.size(); ++i) {
    read.push_back(read_message(taken[i].message));
    if (!is_plain(read[i], queue, services_.clock.now())) {
      odd.push_back(i);
      continue;
    }
    plain.push_back(i);
    deliveries.push_back(delivery_from(taken[i], read[i], queue));
  }
  std::vector<Result<Claim>> claims;
  if (!plain.empty()) claims = co_await kClaimStep.around(services_.jobs.claim_all(std::move(deliveries)));
  const auto one = [&](std::size_t number) -> Task<Result<void>> {
    if (number >= plain.size()) {
      co_return co_await settle_odd(queue, std::move(taken[odd[number - plain.size()]]));
    }
    const auto i = plain[number];
    auto& message = taken[i].message;
    if (!claims[number]) {  // a store is in trouble, and no job is to blame
      auto its_lease = queue_service::lease_of(queue, message);
      co_return co_await services_.queues.release(std::move(its_lease), kAfterTrouble, message.annotation, false);
    }
    auto& spec = read[i].parsed->spec;
    const bool runs = claims[number]->verdict == ClaimVerdict::kRun;
    const bool too_often = attempts_in_vain(read[i].story, message.dequeue_count) > spec.max_attempts;
    if (!runs || too_often) {
      co_return co_await settle_refused(queue, std::move(message), std::move(*claims[number]), std::move(spec));
    }
    if (message.epoch > 1) CO_TRY(co_await fence_earlier(read[i].job_id, message.epoch));
    out[i] = ClaimedJob{std::move(claims[number]->record), std::move(spec)};
    co_return Result<void>{};
  };
  // A job that could not be dealt with is taken again when its lease is over.
  std::ignore = co_await side_by_side(services_.clock, plain.size() + odd.size(), one, kOddAtOnce);
  co_return out;
}

Task<Result<void>> Work::fence_earlier(std::string job_id, std::uint64_t epoch) {
  auto opened = co_await services_.tables.open_operation(std::string(table_store::kUserOperation) + job_id, epoch, 0);
  if (!opened && opened.error().code != ErrorCode::kFenced) co_return fail(std::move(opened.error()));
  co_return Result<void>{};
}

/// Deals with a job that the claim does not let run, or that too many workers have left without a word.
Task<Result<void>> Work::settle_refused(std::string queue, queue_service::Message message, Claim claim, JobSpec spec) {
  auto lease = queue_service::lease_of(std::move(queue), message);
  switch (claim.verdict) {
    case ClaimVerdict::kStale:
      co_return Result<void>{};
    case ClaimVerdict::kDuplicate:
      co_return co_await services_.queues.complete(std::move(lease));
    case ClaimVerdict::kEnded:
      co_return co_await end_message({std::move(lease), std::move(claim.record), std::move(spec)});
    case ClaimVerdict::kSteps:
      CO_TRY(co_await hand_over(std::move(lease), std::move(claim.record), message.dequeue_count));
      co_return Result<void>{};
    case ClaimVerdict::kRun:
      break;
  }
  const auto reason = "The attempt limit of " + std::to_string(spec.max_attempts) +
                      " was reached; the last worker ended without reporting an error.";
  CO_TRY(co_await give_up({std::move(lease), std::move(claim.record), std::move(spec)}, reason, "AttemptLimit", {}));
  co_return Result<void>{};
}

/// Deals with a message that is no job for the worker that has taken it.
Task<Result<void>> Work::settle_odd(std::string queue, TakenMessage taken) {
  const auto read = read_message(taken.message);
  auto lease = queue_service::lease_of(queue, taken.message);
  auto delivery = delivery_from(taken, read, queue);
  if (read.story.giving_up) co_return co_await go_on_giving_up(std::move(lease), std::move(delivery), taken.message);
  if (read.parsed) {
    const auto& spec = read.parsed->spec;
    const auto right = queue_of(spec);
    if (right != queue) delivery.queue = name_of_queue(right);
    CO_TRY(co_await services_.jobs.meet(std::move(delivery)));
    if (right != queue) {
      queue_service::MoveRequest move{
          .to_queue = right, .annotation = taken.message.annotation, .count_attempt = false};
      co_return co_await services_.queues.move(std::move(lease), std::move(move));
    }
    const auto delay = std::min<Duration>(*spec.not_before - services_.clock.now(), kLongestPutOff);
    co_return co_await services_.queues.release(std::move(lease), delay, taken.message.annotation, false);
  }
  auto claim = CO_TRY(co_await services_.jobs.claim(std::move(delivery)));
  Held held{std::move(lease), std::move(claim.record), {}};
  if (claim.verdict == ClaimVerdict::kStale) co_return Result<void>{};
  if (claim.verdict == ClaimVerdict::kDuplicate) co_return co_await services_.queues.complete(std::move(held.lease));
  if (claim.verdict == ClaimVerdict::kEnded) co_return co_await end_message(std::move(held));
  CO_TRY(co_await give_up(std::move(held), read.parsed.error().message, "JobInvalid", {}));
  co_return Result<void>{};
}

/// Finishes what the delivery began that gave the job up.
Task<Result<void>> Work::go_on_giving_up(queue_service::Lease lease, Delivery delivery,
                                         queue_service::Message message) {
  auto record = CO_TRY(co_await services_.jobs.find(delivery.job_id));
  if (!record) record = CO_TRY(co_await services_.jobs.claim(std::move(delivery))).record;
  auto parsed = parse_job_message(message.text);
  Held held{std::move(lease), std::move(*record), {}};
  if (parsed) held.spec = std::move(parsed->spec);
  if (held.record.message_id != message.id) co_return co_await services_.queues.complete(std::move(held.lease));
  const bool over = is_terminal(held.record.state) && held.record.state != JobState::kPoisoned;
  if (over) co_return co_await end_message(std::move(held));
  CO_TRY(co_await move_to_poison(std::move(held), poison_record_of(message), {}));
  co_return Result<void>{};
}

Task<Result<std::vector<ClaimedJob>>> Work::claimed_before(std::vector<std::pair<std::string, std::uint64_t>> jobs,
                                                           const OwnKinds& kinds) {
  std::vector<ClaimedJob> out;
  if (jobs.empty()) co_return out;
  std::vector<std::string> ids;
  std::vector<JobBeat> beats;
  for (const auto& [id, epoch] : jobs) {
    ids.push_back(id);
    beats.push_back({.id = id, .epoch = epoch, .done = {}, .total = {}, .phase = {}, .checkpoint = {}});
  }
  const auto answers = CO_TRY(co_await beat(std::move(beats), kinds));
  auto records = CO_TRY(co_await services_.jobs.find_all(std::move(ids)));
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (answers[i] != BeatAnswer::kHeld || !records[i]) continue;
    auto held = held_by(records[i], jobs[i].second);
    if (held) out.push_back({std::move(held->record), std::move(*held->spec)});
  }
  co_return out;
}

}  // namespace tidemark::jobs
