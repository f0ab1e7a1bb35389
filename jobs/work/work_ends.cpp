// Ends: results, errors, and jobs that workers give back.
#include "common/base/fail_points.h"
#include "common/base/side_by_side.h"
#include "jobs/poison/poison.h"
#include "jobs/store/test_switches.h"
#include "jobs/work/work.h"

namespace tidemark::jobs {
namespace {

const FailStep kResultStep("work.result");
const FailStep kMessageStep("work.message");
const FailStep kPutBackStep("work.put_back");
const FailStep kGiveUpStep("work.give_up");
const FailStep kHandOverStep("work.hand_over");

constexpr std::size_t kEndsAtOnce = 16;
// While a job is being given up, nobody else takes it.
constexpr Duration kGivingUp = std::chrono::seconds(30);

bool is_gone(const Error& error) {
  return error.code == ErrorCode::kLeaseLost || error.code == ErrorCode::kMessageNotFound ||
         error.code == ErrorCode::kQueueNotFound;
}

/// A message that is gone, or that another delivery has, needs nothing more from this one.
Result<void> unless_gone(Result<void> outcome) {
  if (!outcome && is_gone(outcome.error())) return {};
  return outcome;
}

/// The facts for the message, from the record: workers of users have no message in their hands.
MessageStory story_of(const JobRecord& record) {
  MessageStory story;
  story.job_id = record.id;
  story.attempts = record.history;
  story.redrives = round_after(record.history) - 1;
  story.edited_epoch = record.edited_epoch;
  return story;
}

RetryPolicy policy_of(const JobSpec& spec) {
  RetryPolicy policy;
  if (spec.retry_base_ms) policy.base = std::chrono::milliseconds(*spec.retry_base_ms);
  if (spec.retry_cap_ms) policy.cap = std::chrono::milliseconds(*spec.retry_cap_ms);
  return policy;
}

/// Returns the error for an end that comes from a delivery which does not have the job.
std::unexpected<Error> stale(const JobRecord& record) {
  auto error = make_error(ErrorCode::kFenced, "Job " + record.id + " is not held under this epoch: its epoch is " +
                                                  std::to_string(record.epoch) + ", and it is " +
                                                  std::string(state_name(record.state)) + ".");
  error.fields.emplace_back("state", std::string(state_name(record.state)));
  return fail(std::move(error));
}

}  // namespace

Attempt Work::attempt_of(const JobRecord& record, std::string outcome) const {
  Attempt attempt;
  attempt.number = record.attempts;
  attempt.worker = record.worker;
  attempt.started_at = record.claimed_at.value_or(record.submitted_at);
  const auto took = services_.clock.now() - attempt.started_at;
  attempt.duration_ms = std::chrono::duration_cast<std::chrono::milliseconds>(took).count();
  attempt.outcome = std::move(outcome);
  attempt.round = round_after(record.history);
  return attempt;
}

Result<Work::Held> Work::held_by(const std::optional<JobRecord>& record, std::uint64_t epoch) {
  if (!record) return fail(ErrorCode::kJobNotFound);
  auto spec = parse_stored_spec(record->spec);
  if (!spec || !std::holds_alternative<OwnSpec>(spec->work)) {
    return fail(ErrorCode::kInvalidInput, "Job " + record->id + " is of kind " + record->kind +
                                              ", which Tidemark's own workers do: nobody else can end it.");
  }
  const bool holds = record->epoch == epoch || record->end_epoch == epoch;
  if (!holds && !test_switches::ignore_record_epoch) return stale(*record);
  auto queue = record->part.empty() ? queue_of(*spec) : record->part;
  return Held{{std::move(queue), record->message_id, epoch}, *record, std::move(*spec)};
}

Task<std::vector<Result<JobRecord>>> Work::end(std::vector<WorkEnd> ends, OwnKinds kinds) {
  std::vector<Result<JobRecord>> out(ends.size(), fail(ErrorCode::kInternalError));
  std::vector<std::optional<Held>> held(ends.size());
  for (std::size_t begin = 0; begin < ends.size(); begin += kMostTogether) {
    std::vector<std::string> ids;
    for (auto i = begin; i < std::min(ends.size(), begin + kMostTogether); ++i) ids.push_back(ends[i].id);
    const auto records = co_await services_.jobs.find_all(ids);
    for (std::size_t n = 0; n < ids.size(); ++n) {
      auto found = records ? held_by((*records)[n], ends[begin + n].epoch) : fail(records.error());
      if (found) {
        held[begin + n] = std::move(*found);
      } else {
        out[begin + n] = fail(std::move(found.error()));
      }
    }
  }
  co_await end_results(ends, held, out);
  const auto one = [&](std::size_t i) -> Task<Result<void>> {
    if (held[i]) out[i] = co_await end_one(ends[i], std::move(*held[i]), kinds);
    co_return Result<void>{};
  };
  std::ignore = co_await side_by_side(services_.clock, ends.size(), one, kEndsAtOnce);  // each has its own outcome
  co_return out;
}

/// Ends the running jobs that have a result, many together. Those that need more than that are left.
Task<void> Work::end_results(const std::vector<WorkEnd>& ends, std::vector<std::optional<Held>>& held,
                             std::vector<Result<JobRecord>>& out) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const bool simple = held[i] && ends[i].kind == EndKind::kResult && held[i]->record.state == JobState::kRunning &&
                        held[i]->record.end_steps.empty() && !has_followers(*held[i]->spec);
    if (simple) places.push_back(i);
  }
  for (std::size_t begin = 0; begin < places.size(); begin += kMostTogether) {
    const auto end = std::min(places.size(), begin + kMostTogether);
    std::vector<ChangeOf> changes;
    for (auto n = begin; n < end; ++n) {
      const auto& record = held[places[n]]->record;
      changes.push_back({record.id, record.epoch, result_change(ends[places[n]], record), record});
    }
    auto changed = co_await kResultStep.around(services_.jobs.change_all(std::move(changes)));
    std::vector<queue_service::Lease> leases;
    for (auto n = begin; n < end; ++n) {
      auto& each = changed[n - begin];
      if (!each) continue;  // end_one() looks at it again
      leases.push_back(std::move(held[places[n]]->lease));
      held[places[n]].reset();
      out[places[n]] = std::move(*each);
    }
    if (leases.empty()) continue;
    // The records say succeeded: a message that stays is dropped when it is taken again.
    std::ignore = co_await kMessageStep.around(services_.queues.complete_all(std::move(leases)));
  }
}

RecordChange Work::result_change(const WorkEnd& end, const JobRecord& record) const {
  RecordChange change;
  change.state = JobState::kSucceeded;
  change.done = std::max<std::uint64_t>(record.done, 1);
  change.phase = "finished";
  change.error = "";
  change.result = end.result;
  change.checkpoint = "";
  change.attempt = attempt_of(record, "succeeded");
  return change;
}

Task<Result<JobRecord>> Work::end_one(const WorkEnd& end, Held held, const OwnKinds& kinds) {
  if (held.record.state == JobState::kRunning && held.record.end_steps.empty()) {
    auto ended = co_await end_running(end, held, kinds);
    if (!ended.failed_with(ErrorCode::kFenced)) co_return ended;
    // It was cancelled or ended meanwhile, or another delivery has it.
    held = CO_TRY(held_by(CO_TRY(co_await services_.jobs.find(held.record.id)), held.record.epoch));
    if (held.record.state == JobState::kRunning && held.record.end_steps.empty()) co_return stale(held.record);
  }
  if (!held.record.end_steps.empty()) {
    const auto deliveries = held.record.attempts;
    co_return co_await hand_over(std::move(held.lease), std::move(held.record), deliveries);
  }
  CO_TRY(co_await finish(end, held));
  co_return std::move(held.record);
}

Task<Result<JobRecord>> Work::end_running(const WorkEnd& end, Held held, const OwnKinds& kinds) {
  switch (end.kind) {
    case EndKind::kResult:
      co_return co_await succeed_one(end, std::move(held));
    case EndKind::kError:
      co_return co_await fail_one(end, std::move(held));
    case EndKind::kSteps:
      co_return co_await accept_steps(end, std::move(held), kinds);
    case EndKind::kRelease: {
      auto error = held.record.error;
      co_return co_await put_back(std::move(held), Duration::zero(), false, {}, std::move(error));
    }
  }
  co_return fail(ErrorCode::kInternalError);
}

Task<Result<JobRecord>> Work::accept_steps(const WorkEnd& end, Held held, const OwnKinds& kinds) {
  const auto* kind = find_kind(kinds, held.record.kind);
  if (kind == nullptr || !kind->steps) {
    co_return fail(ErrorCode::kInvalidInput, "Jobs of kind " + held.record.kind +
                                                 " cannot be ended with steps: declare it with \"steps\": true by PUT "
                                                 "/v1/kinds/" +
                                                 held.record.kind + ".");
  }
  RecordChange change;
  change.end_steps = end_steps_text({end.transaction, end.result});
  if (change.end_steps->size() > kMaxResultBytes) {
    co_return fail(ErrorCode::kRequestBodyTooLarge, "The steps and the result have " +
                                                        std::to_string(change.end_steps->size()) +
                                                        " bytes, and may have " + std::to_string(kMaxResultBytes) +
                                                        " together: put more into a blob, and name the blob.");
  }
  auto left = *held.spec;
  left.work = end.transaction;
  change.queue = name_of_queue(queue_of(left));
  change.done = std::max<std::uint64_t>(held.record.done, 1);
  change.phase = kStepsPhase;
  change.error = "";
  change.checkpoint = "";
  change.attempt = attempt_of(held.record, "ended");
  auto changed = services_.jobs.change(held.record.id, held.record.epoch, std::move(change), held.record);
  auto record = CO_TRY(co_await kResultStep.around(std::move(changed)));
  const auto deliveries = record.attempts;
  co_return co_await hand_over(std::move(held.lease), std::move(record), deliveries);
}

Task<Result<JobRecord>> Work::hand_over(queue_service::Lease lease, JobRecord record, std::uint32_t deliveries) {
  const bool waits = record.state == JobState::kRunning && record.epoch == record.end_epoch;
  const bool came_back = lease.epoch > record.epoch;
  if (!waits && !came_back) co_return record;
  auto story = story_of(record);
  story.advanced = std::max(deliveries, 1U) - 1;  // the deliveries to its workers do not count against the steps
  queue_service::MoveRequest move{
      .to_queue = queue_of(CO_TRY(work_left_of(record))), .annotation = story_text(story), .count_attempt = false};
  auto moved = services_.queues.move(std::move(lease), std::move(move));
  CO_TRY(unless_gone(co_await kHandOverStep.around(std::move(moved))));
  co_return record;
}

Task<Result<JobRecord>> Work::succeed_one(const WorkEnd& end, Held held) {
  auto changed = services_.jobs.change(held.record.id, held.record.epoch, result_change(end, held.record), held.record);
  held.record = CO_TRY(co_await kResultStep.around(std::move(changed)));
  auto record = held.record;
  CO_TRY(co_await end_message(std::move(held)));
  co_return record;
}

/// Repeats the steps after the change of the record, in case that an earlier request was cut off there.
Task<Result<void>> Work::finish(const WorkEnd& end, Held held) {
  switch (held.record.state) {
    case JobState::kSucceeded:
    case JobState::kCancelled:
      co_return co_await end_message(std::move(held));
    case JobState::kQueued: {
      const bool counts = end.kind != EndKind::kRelease && end.error_class != ErrorClass::kThrottled;
      const auto delay = policy_of(*held.spec).backoff(std::max(held.record.attempts, 1U), services_.random);
      co_return unless_gone(co_await services_.queues.release(std::move(held.lease), counts ? delay : Duration::zero(),
                                                              story_text(story_of(held.record)), counts));
    }
    case JobState::kPoisoned:  // the next claim finishes the move, and need not wait for that
      co_return unless_gone(co_await services_.queues.renew(std::move(held.lease), Duration::zero(), std::nullopt));
    default:
      co_return Result<void>{};
  }
}

Task<Result<void>> Work::end_message(Held held) {
  std::vector<queue_service::FollowUp> next;
  if (held.spec && has_followers(*held.spec)) {
    next = CO_TRY(co_await endings_.follow_ups(std::move(held.record), *held.spec));
  }
  if (!next.empty()) {
    auto finished = co_await kMessageStep.around(services_.queues.finish(held.lease, next));
    if (finished || is_gone(finished.error())) co_return Result<void>{};
    if (finished.error().code != ErrorCode::kIdempotencyKeyReused) co_return fail(std::move(finished.error()));
    // One of them was put before with other words: put the others, then only the message is left.
    CO_TRY(co_await endings_.put(std::move(next)));
  }
  co_return unless_gone(co_await kMessageStep.around(services_.queues.complete(std::move(held.lease))));
}

Task<Result<JobRecord>> Work::fail_one(const WorkEnd& end, Held held) {
  auto attempt = attempt_of(held.record, "failed");
  attempt.error_class = std::string(class_name(end.error_class));
  attempt.code = attempt.error_class;
  attempt.message = end.message;
  const bool throttled = end.error_class == ErrorClass::kThrottled;
  const bool last = !throttled && held.record.attempts >= held.spec->max_attempts;
  if (end.error_class == ErrorClass::kPermanent || last) {
    auto code = attempt.code;
    co_return co_await give_up(std::move(held), end.message, std::move(code), std::move(attempt));
  }
  const auto backoff = policy_of(*held.spec).backoff(std::max(held.record.attempts, 1U), services_.random);
  auto error = attempt.code + ": " + end.message;
  co_return co_await put_back(std::move(held), end.retry_after.value_or(backoff), !throttled,
                              throttled ? std::nullopt : std::optional(std::move(attempt)), std::move(error));
}

Task<Result<JobRecord>> Work::put_back(Held held, Duration delay, bool counts, std::optional<Attempt> attempt,
                                       std::string error) {
  RecordChange change;
  change.state = JobState::kQueued;
  change.error = std::move(error);
  change.attempt = std::move(attempt);
  if (!counts && held.record.attempts > 0) change.attempts = held.record.attempts - 1;
  auto changed = services_.jobs.change(held.record.id, held.record.epoch, std::move(change), held.record);
  auto record = CO_TRY(co_await kResultStep.around(std::move(changed)));
  auto released = services_.queues.release(std::move(held.lease), delay, story_text(story_of(record)), counts);
  CO_TRY(unless_gone(co_await kPutBackStep.around(std::move(released))));
  co_return record;
}

Task<Result<JobRecord>> Work::give_up(Held held, std::string reason, std::string code, std::optional<Attempt> last) {
  PoisonRecord poison;
  const auto story = story_of(held.record);
  poison.message_id = held.lease.message_id;
  poison.job_id = held.record.id;
  poison.kind = held.record.kind;
  poison.fingerprint = error_fingerprint(poison.kind, code, reason);
  poison.reason = std::move(reason);
  poison.queue = held.lease.queue;
  poison.attempts = story.attempts;
  if (last) poison.attempts.push_back(*last);
  poison.redrives = story.redrives;
  poison.edited_epoch = story.edited_epoch;
  poison.moved_at = services_.clock.now();
  auto noted = co_await kGiveUpStep.around(services_.queues.renew(held.lease, kGivingUp, giving_up_annotation(poison)));
  if (!noted && is_gone(noted.error())) co_return stale(held.record);
  CO_TRY(std::move(noted));
  co_return co_await move_to_poison(std::move(held), std::move(poison), std::move(last));
}

Task<Result<JobRecord>> Work::move_to_poison(Held held, PoisonRecord poison, std::optional<Attempt> last) {
  auto record = held.record;
  if (record.state != JobState::kPoisoned) {
    RecordChange change;
    change.state = JobState::kPoisoned;
    change.error = poison.reason;
    change.attempt = std::move(last);
    auto changed = services_.jobs.change(record.id, held.lease.epoch, std::move(change), held.record);
    record = CO_TRY(co_await kResultStep.around(std::move(changed)));
  }
  if (held.spec) CO_TRY(co_await endings_.tell(record, *held.spec));
  queue_service::MoveRequest move{.to_queue = std::string(kPoisonQueue), .annotation = poison_annotation(poison)};
  auto moved = services_.queues.move(std::move(held.lease), std::move(move));
  CO_TRY(unless_gone(co_await kMessageStep.around(std::move(moved))));
  co_return record;
}

}  // namespace tidemark::jobs
