#include "workers/runtime/job_runner.h"

#include "common/rpc/call_trace.h"
#include "jobs/kinds/reach.h"
#include "jobs/spec/job_trace.h"
#include "jobs/spec/names.h"
#include "jobs/store/end_steps.h"
#include "workers/runtime/fail_points.h"
#include "workers/runtime/poison_sweep.h"

namespace tidemark::workers {

using jobs::JobState;

namespace {
constexpr jobs::Names<RunEnd, 5> kEnds{{{RunEnd::kSucceeded, "succeeded"},
                                        {RunEnd::kDropped, "dropped"},
                                        {RunEnd::kRetried, "retried"},
                                        {RunEnd::kPoisoned, "poisoned"},
                                        {RunEnd::kAbandoned, "abandoned"}}};
}  // namespace

std::string_view end_name(RunEnd end) { return jobs::name_in(kEnds, end); }

struct JobRunner::Run {
  std::string queue;
  queue_service::Message message;
  std::shared_ptr<const bool> give_back;
  std::shared_ptr<HeldLease> lease;
  MessageStory story;
  std::optional<jobs::JobSpec> spec;
  // Once a worker of a user's has ended the job with steps, `spec` has these; then there are:
  std::optional<jobs::JobSpec> submitted;  // the job as it was submitted
  std::string result;                      // that of the job after the steps, JSON
  std::string kind = "unknown";
  Time started{};
  std::optional<jobs::JobRecord> claimed;  // the record as the claim left it
  std::optional<std::string> counts_in;    // the account in which the job counts, once that is known
  std::optional<Error> unreadable;
  RunReport report;
};

namespace {

// The protocol's limit for a visibility delay.
constexpr Duration kLongestDelay = std::chrono::hours(24 * 7);
constexpr Duration kShortestRelease = std::chrono::milliseconds(20);
// Each time a job finds its limit reached, it waits twice as long: many waiting jobs must not keep the workers busy.
constexpr Duration kShortestWait = std::chrono::milliseconds(500);
constexpr Duration kLongestWaitForSlot = std::chrono::seconds(4);
// Jobs of a paused kind come back one after another, so many per second and worker, each after a second at least: the
// end of the pause is noticed at once, and however many jobs wait, it costs little.
constexpr Duration kBetweenLooks = std::chrono::milliseconds(40);
constexpr Duration kShortestPause = std::chrono::seconds(1);
constexpr Duration kLongestPause = std::chrono::seconds(30);

/// Tells whether no delivery will ever be able to write such a record.
bool is_refused_for_good(const Error& error) {
  const auto status = http_status_of(error.code);
  return status == 400 || status == 413;
}

bool may_pass(const Error& error) {
  const auto error_class = classify(error.code);
  return error_class == ErrorClass::kTransient || error_class == ErrorClass::kThrottled;
}

}  // namespace

Task<RunReport> JobRunner::run(queue_service::Message message, Time taken, std::shared_ptr<const bool> give_back,
                               std::string queue) {
  Run run;
  run.queue = std::move(queue);
  run.message = std::move(message);
  run.give_back = std::move(give_back);
  run.started = services_.clock.now();
  run.story = parse_story(run.message.annotation);
  run.lease = std::make_shared<HeldLease>(services_.queues, services_.clock,
                                          queue_service::lease_of(run.queue, run.message), options_.lease, taken);
  run.lease->start(co_await asio::this_coro::executor);

  read_message(run);
  TraceContext trace;
  if (options_.traces && run.spec) {
    trace = jobs::delivery_trace(run.spec->trace, run.story.job_id, run.message.epoch);
  }
  run.report.end = co_await rpc::in_trace(std::move(trace), steps(run));
  // No renewal may outlive the run: it would hide a message that was given back.
  co_await run.lease->stop();
  run.report.job_id = run.story.job_id;
  run.report.kind = run.kind;
  if (run.spec) run.report.submitted_by = run.spec->trace;
  run.report.epoch = run.message.epoch;
  run.report.put = run.message.inserted;
  co_return std::move(run.report);
}

void JobRunner::read_message(Run& run) {
  auto parsed = jobs::parse_job_message(run.message.text);
  run.story.job_id = job_id_of(run.message, parsed, run.story);
  if (parsed) {
    run.kind = jobs::kind_name(parsed->spec);
    run.spec = std::move(parsed->spec);
  } else {
    run.unreadable = std::move(parsed.error());
  }
}

Task<RunEnd> JobRunner::steps(Run& run) {
  if (run.story.giving_up) co_return co_await move_to_poison(run, jobs::poison_record_of(run.message));
  if (!run.spec) co_return co_await claim(run);
  if (std::holds_alternative<jobs::OwnSpec>(run.spec->work) && !co_await look_for_steps(run)) {
    co_return co_await release(run, kShortestPause, false);
  }
  co_await gate_.refresh();
  if (auto queue = queue_for(run); queue != jobs::name_of_queue(run.queue)) {
    co_return co_await pass_on(run, std::move(queue));
  }
  if (run.spec->not_before && *run.spec->not_before > run.started) {
    co_return co_await put_off(run, *run.spec->not_before - run.started);
  }
  const auto holder = co_await lanes_.holder(*run.spec, run.story.job_id);
  if (!holder) co_return co_await release(run, kShortestPause, false);
  if (*holder) co_return co_await put_off(run, next_look());
  const auto admission = co_await gate_.enter(run.kind, jobs::tables_of(*run.spec), run.story.job_id);
  if (admission == Admission::kPaused) co_return co_await put_off(run, next_look());
  if (admission == Admission::kFull) co_return co_await put_off(run, wait_for_slot(run));
  const auto end = co_await claim(run);
  co_await gate_.leave(run.story.job_id);
  co_return end;
}

Task<Result<void>> JobRunner::look_for_steps(Run& run) {
  const auto record = CO_TRY(co_await services_.jobs.find(run.story.job_id));
  if (!record || record->end_steps.empty()) co_return Result<void>{};
  run.result = CO_TRY(jobs::parse_end_steps(record->end_steps)).result;
  run.submitted = std::exchange(run.spec, CO_TRY(jobs::work_left_of(*record)));
  co_return Result<void>{};
}

Duration JobRunner::next_look() {
  const auto now = services_.clock.now();
  next_look_ = std::clamp<Time>(next_look_ + kBetweenLooks, now + kShortestPause, now + kLongestPause);
  return next_look_ - now;
}

Duration JobRunner::wait_for_slot(Run& run) {
  const auto doubled = kShortestWait * (std::int64_t{1} << std::min<std::uint32_t>(run.story.stalls, 16));
  run.story.stalls += 1;
  return std::min<Duration>(doubled, kLongestWaitForSlot);
}

jobs::Delivery JobRunner::delivery_for(const Run& run) const {
  const auto& spec = run.submitted ? run.submitted : run.spec;
  auto delivery = delivery_of(run.message, run.story.job_id, spec, options_.worker_name);
  delivery.takes_steps = run.submitted.has_value();
  delivery.story = run.story.attempts;
  delivery.edited_epoch = run.story.edited_epoch;
  delivery.queue = jobs::name_of_queue(run.queue);
  return delivery;
}

Task<RunEnd> JobRunner::claim(Run& run) {
  auto claim = co_await fail_points::kClaim.around(services_.jobs.claim(delivery_for(run)));
  if (!claim) co_return co_await settle(run, std::move(claim.error()));
  switch (claim->verdict) {
    case jobs::ClaimVerdict::kStale:
      co_return RunEnd::kAbandoned;
    case jobs::ClaimVerdict::kDuplicate:
      co_return co_await drop(run, std::nullopt);
    case jobs::ClaimVerdict::kEnded:
      co_return co_await drop(run, std::move(claim->record));
    case jobs::ClaimVerdict::kSteps:  // it was handed over just now
      co_return co_await release(run, kShortestPause, false);
    case jobs::ClaimVerdict::kRun:
      break;
  }
  run.claimed = std::move(claim->record);
  run.counts_in = jobs::ledger_accounts(*run.claimed).front();
  if (run.unreadable) co_return co_await settle(run, std::move(*run.unreadable));
  if (co_await deaths_in_vain(run) <= run.spec->max_attempts) co_return co_await work(run);
  // Workers died on this job without being able to report the reason.
  const auto reason = "The attempt limit of " + std::to_string(run.spec->max_attempts) +
                      " was reached; the last worker ended without reporting an error.";
  co_return co_await give_up(run, reason, "AttemptLimit");
}

Task<std::uint32_t> JobRunner::deaths_in_vain(Run& run) {
  const auto attempts = attempts_in_vain(run.story, run.message.dequeue_count);
  if (attempts <= run.spec->max_attempts) co_return attempts;
  auto ledger = co_await open_operation(run);
  const auto effects = ledger ? ledger->counter(kDone) : 0;
  if (effects <= run.story.effects) co_return attempts;
  // Write it durably before the job goes on: if this worker dies, the next one must not count the same work as new.
  auto story = run.story;
  story.effects = effects;
  story.advanced = run.message.dequeue_count - 1;
  auto noted = co_await run.lease->renew_now(story_text(story));
  if (!noted) co_return attempts;
  run.story = std::move(story);
  co_return attempts_in_vain(run.story, run.message.dequeue_count);
}

Task<Result<table_store::OperationLedger>> JobRunner::open_operation(Run& run) {
  if (!run.counts_in) {
    const auto record = CO_TRY(co_await services_.jobs.find(run.story.job_id));
    run.counts_in = record ? jobs::ledger_accounts(*record).front() : std::string();
  }
  const auto tables = services_.jobs.tables_in(*run.counts_in);
  co_return co_await tables->open_operation(run.story.job_id, run.message.epoch, run.story.edited_epoch);
}

Task<Result<void>> JobRunner::choose_accounts(Run& run) {
  const auto reach = CO_TRY(co_await jobs::resolve(services_.jobs, jobs::reach_of(*run.spec)));
  CO_TRY(jobs::check_accounts(reach, services_.objects.accounts));
  auto accounts = jobs::ledger_accounts(reach, services_.jobs.account());
  if (run.story.edited_epoch > 0) CO_TRY(co_await leave_accounts(run, accounts));
  jobs::RecordChange change;
  change.accounts = jobs::joined(accounts, ",");
  if (*change.accounts == run.claimed->accounts) co_return Result<void>{};
  run.claimed =
      CO_TRY(co_await services_.jobs.change(run.story.job_id, run.message.epoch, std::move(change), run.claimed));
  run.counts_in = jobs::ledger_accounts(*run.claimed).front();
  co_return Result<void>{};
}

Task<Result<jobs::JobRecord>> JobRunner::end_record(Run& run, jobs::RecordChange change) {
  auto changed = co_await services_.jobs.change(run.story.job_id, run.message.epoch, change,
                                                std::exchange(run.claimed, std::nullopt));
  if (!changed.failed_with(ErrorCode::kJobNotFound)) co_return changed;
  // The table was dropped. A job without a record would be in no list.
  CO_TRY(co_await services_.jobs.claim(delivery_for(run)));
  co_return co_await services_.jobs.change(run.story.job_id, run.message.epoch, std::move(change));
}

Task<Result<void>> JobRunner::leave_accounts(Run& run, std::vector<std::string>& accounts) {
  const auto& home = services_.jobs.account();
  for (auto& before : jobs::ledger_accounts(*run.claimed)) {
    if (before.empty()) before = home;
    const bool stays = accounts.empty() ? before == home : std::ranges::find(accounts, before) != accounts.end();
    if (stays) continue;
    auto closed = co_await services_.jobs.tables_in(before)->close_operation(run.story.job_id, run.message.epoch,
                                                                             run.story.edited_epoch);
    if (!closed && closed.error().code != ErrorCode::kFenced) co_return fail(std::move(closed.error()));
    if (accounts.empty()) accounts.push_back(home);
    accounts.push_back(std::move(before));
  }
  co_return Result<void>{};
}

Task<RunEnd> JobRunner::work(Run& run) {
  if (auto chosen = co_await choose_accounts(run); !chosen) co_return co_await settle(run, std::move(chosen.error()));
  JobContext context(services_, gate_, run.lease, run.give_back, run.story, *run.claimed, *run.spec);
  auto outcome = co_await std::visit([&](auto work) { return workers::run(context, std::move(work)); }, run.spec->work);
  if (!outcome) co_return co_await settle(run, std::move(outcome.error()));
  co_return co_await succeed(run, std::move(*outcome));
}

jobs::Attempt JobRunner::attempt_of(const Run& run, std::string outcome) const {
  auto attempt =
      workers::attempt_of(run.message, options_.worker_name, run.started, services_.clock.now(), std::move(outcome));
  attempt.round = run.story.redrives + 1;
  return attempt;
}

Task<RunEnd> JobRunner::succeed(Run& run, JobOutcome outcome) {
  co_await run.lease->stop();
  if (!outcome.state) {  // only a transaction whose guards did not hold ends in another way
    outcome.state = JobState::kSucceeded;
    outcome.phase = "finished";
    outcome.error = "";
    if (run.submitted) outcome.result = std::move(run.result);
  }
  const auto ended = *outcome.state;
  outcome.attempt = attempt_of(run, std::string(jobs::state_name(ended)));
  auto changed = co_await fail_points::kFinishRecord.around(end_record(run, std::move(outcome)));
  if (!changed) co_return co_await settle(run, std::move(changed.error()));
  auto completed = co_await fail_points::kFinishMessage.around(end_message(run, std::move(*changed)));
  // The record says succeeded: if the message stays, its next delivery finds that and drops it.
  if (!completed) run.report.error = std::move(completed.error());
  co_return ended == JobState::kSucceeded ? RunEnd::kSucceeded : RunEnd::kDropped;
}

RetryPolicy JobRunner::policy_of(const Run& run) const {
  auto policy = options_.retry;
  if (run.spec && run.spec->retry_base_ms) policy.base = std::chrono::milliseconds(*run.spec->retry_base_ms);
  if (run.spec && run.spec->retry_cap_ms) policy.cap = std::chrono::milliseconds(*run.spec->retry_cap_ms);
  return policy;
}

Task<RunEnd> JobRunner::settle(Run& run, Error error) {
  co_await run.lease->stop();
  run.report.error = error;
  run.story.refused = classify(error.code) == ErrorClass::kThrottled;
  // The worker is stopping, or the kind is paused.
  if (error.code == ErrorCode::kCancelled) co_return co_await release(run, Duration::zero(), false);
  const auto max_attempts = run.spec ? run.spec->max_attempts : jobs::kDefaultMaxAttempts;
  const auto attempt_number = attempts_in_vain(run.story, run.message.dequeue_count);
  const auto decision = policy_of(run).decide(error, attempt_number, run.story.stalls, max_attempts, services_.random);
  if (decision.treatment == Treatment::kAbandon) co_return co_await overtaken(run);
  if (decision.count_attempt) {
    auto attempt = attempt_of(run, "failed");
    attempt.error_class = std::string(class_name(classify(error.code)));
    attempt.code = std::string(azure_name_of(error.code));
    attempt.message = error.message;
    run.story.attempts.push_back(std::move(attempt));
    run.story.stalls = 0;
  } else {
    run.story.stalls += 1;
  }
  if (decision.treatment == Treatment::kRetry) co_return co_await retry(run, decision, std::move(error));
  co_return co_await give_up(run, std::move(error.message), azure_name_of(error.code));
}

Task<RunEnd> JobRunner::retry(Run& run, Decision decision, Error error) {
  jobs::RecordChange change;
  change.state = JobState::kQueued;
  change.error = std::string(azure_name_of(error.code)) + ": " + error.message;
  if (decision.count_attempt) change.attempt = run.story.attempts.back();
  fail_points::kRetryRecordBefore.reach();
  // The record is only informative here: if the change fails, the next delivery's claim corrects it.
  auto changed = co_await services_.jobs.change(run.story.job_id, run.message.epoch, std::move(change));
  if (changed.failed_with(ErrorCode::kFenced)) co_return co_await overtaken(run);
  co_return co_await fail_points::kRetryMessage.around(release(run, decision.delay, decision.count_attempt));
}

Task<Result<std::optional<RunEnd>>> JobRunner::meet(Run& run, std::string queue) {
  co_await run.lease->stop();
  auto delivery = delivery_for(run);
  delivery.queue = std::move(queue);
  // If the job is over, nothing has to wait for this message, and the record does not wait for its end.
  auto record = CO_TRY(co_await services_.jobs.meet(std::move(delivery)));
  if (record.message_id != run.message.id) co_return co_await drop(run, std::nullopt);
  if (jobs::is_over(record.state)) co_return co_await drop(run, std::move(record));
  co_return std::optional<RunEnd>();
}

Task<RunEnd> JobRunner::put_off(Run& run, Duration delay) {
  const auto met = co_await meet(run, jobs::name_of_queue(run.queue));
  if (met && *met) co_return **met;
  co_return co_await release(run, std::min(delay, kLongestDelay), false);
}

std::string JobRunner::queue_for(const Run& run) const {
  const auto at = jobs::name_of_queue(run.queue);
  if (std::holds_alternative<jobs::OwnSpec>(run.spec->work)) return jobs::name_of_queue(jobs::queue_of(*run.spec));
  auto wanted = run.spec->queue;
  if (wanted.empty() && at == jobs::kDefaultQueue) wanted = gate_.queue_of_kind(run.kind);
  return wanted.empty() ? at : wanted;
}

Task<RunEnd> JobRunner::pass_on(Run& run, std::string queue) {
  const auto met = co_await meet(run, queue);
  if (!met) co_return co_await release(run, kShortestPause, false);
  if (*met) co_return **met;
  auto target = *run.spec;
  target.queue = std::move(queue);
  const auto moved = co_await fail_points::kPassOn.around(services_.queues.move(
      run.lease->lease(),
      {.to_queue = jobs::queue_of(target), .annotation = story_text(run.story), .count_attempt = false}));
  if (!moved && may_pass(moved.error())) co_return co_await release(run, kShortestPause, false);
  co_return moved ? RunEnd::kRetried : RunEnd::kAbandoned;
}

Task<RunEnd> JobRunner::release(Run& run, Duration delay, bool count_attempt) {
  // If the lease ran out instead, the attempt would count, and the checkpoint would be lost.
  for (std::uint32_t failures = 1;; ++failures) {
    auto released = co_await services_.queues.release(run.lease->lease(), delay, story_text(run.story), count_attempt);
    if (released) co_return RunEnd::kRetried;
    if (!may_pass(released.error()) || *run.give_back) co_return RunEnd::kAbandoned;
    const auto pause = std::max<Duration>(options_.retry.backoff(failures, services_.random), kShortestRelease);
    if (run.lease->lost_after(pause)) co_return RunEnd::kAbandoned;
    co_await sleep_for(services_.clock, pause);
  }
}

Task<RunEnd> JobRunner::stop(Run& run, std::string reason, std::string_view code) {
  const auto& attempts = run.story.attempts;
  const bool told = !attempts.empty() && attempts.back().number == run.message.dequeue_count;
  auto last = told ? attempts.back() : attempt_of(run, "failed");
  last.code = std::string(code);
  last.message = std::move(reason);
  auto stopped = co_await services_.jobs.stop(run.story.job_id, run.message.epoch, std::move(last));
  if (!stopped) co_return RunEnd::kAbandoned;  // the next delivery decides anew
  co_return co_await drop(run, std::move(*stopped));
}

Task<RunEnd> JobRunner::give_up(Run& run, std::string reason, std::string_view code) {
  co_await run.lease->stop();
  if (run.spec && jobs::is_never_poison(*run.spec)) co_return co_await stop(run, std::move(reason), code);
  jobs::PoisonRecord poison;
  poison.message_id = run.message.id;
  poison.job_id = run.story.job_id;
  poison.kind = run.kind;
  poison.fingerprint = jobs::error_fingerprint(run.kind, code, reason,
                                               run.spec ? jobs::tables_of(*run.spec) : std::vector<std::string>());
  poison.reason = std::move(reason);
  poison.queue = run.queue;
  poison.attempts = run.story.attempts;
  poison.redrives = run.story.redrives;
  poison.edited_epoch = run.story.edited_epoch;
  poison.moved_at = services_.clock.now();
  const auto noted = co_await fail_points::kPoisonNote.around(run.lease->renew_now(giving_up_annotation(poison)));
  if (!noted) co_return RunEnd::kAbandoned;  // the next delivery decides anew
  co_return co_await move_to_poison(run, std::move(poison));
}

jobs::JobRecord JobRunner::record_instead(const Run& run, const jobs::PoisonRecord& poison) {
  jobs::JobRecord record;
  record.id = run.story.job_id;
  record.kind = run.kind;
  record.state = JobState::kPoisoned;
  record.error = poison.reason;
  record.attempts = run.message.dequeue_count;
  record.submitted_at = run.message.inserted;
  record.finished_at = poison.moved_at;
  return record;
}

Task<RunEnd> JobRunner::move_to_poison(Run& run, jobs::PoisonRecord poison) {
  co_await run.lease->stop();
  jobs::RecordChange change;
  change.state = JobState::kPoisoned;
  change.error = poison.reason;
  // The last attempt may be of an earlier delivery, if this one finishes a move that was begun.
  if (!run.story.attempts.empty() && run.story.attempts.back().number == run.message.dequeue_count) {
    change.attempt = run.story.attempts.back();
  }
  if (run.spec) {
    // Nobody raises it any more, so it counts all the work that the job did, however old its last report is.
    const auto ledger = co_await open_operation(run);
    if (!ledger && may_pass(ledger.error())) co_return RunEnd::kAbandoned;
    if (ledger) change.done = ledger->counter(jobs::counter_of_work(run.kind));
  }
  auto changed = co_await end_record(run, std::move(change));
  fail_points::kPoisonRecordAfter.reach();
  if (!changed) {
    auto record = co_await services_.jobs.find(run.story.job_id);
    if (!record) co_return RunEnd::kAbandoned;  // the note stays, so the next delivery tries again
    if (*record && jobs::is_over((*record)->state)) co_return co_await drop(run, std::move(*record));
    // An earlier delivery wrote the record and could not move the message any more.
    const bool set_before = *record && (*record)->state == JobState::kPoisoned;
    if (!set_before && !is_refused_for_good(changed.error())) co_return RunEnd::kAbandoned;
    changed = set_before ? std::move(**record) : record_instead(run, poison);
  }
  if (run.spec && !co_await endings_.tell(std::move(*changed), *run.spec)) co_return RunEnd::kAbandoned;
  if (run.spec && !co_await lanes_.hold(*run.spec, run.story.job_id)) co_return RunEnd::kAbandoned;
  // Without its group, a job that holds up its lane can be sent back in front of those that wait for it.
  queue_service::MoveRequest move{.to_queue = std::string(jobs::kPoisonQueue),
                                  .annotation = jobs::poison_annotation(poison),
                                  .leaves_group = run.spec && jobs::holds_lane(*run.spec)};
  const auto moved = co_await services_.queues.move(run.lease->lease(), std::move(move));
  fail_points::kPoisonMoveAfter.reach();
  co_return moved ? RunEnd::kPoisoned : RunEnd::kAbandoned;
}

Task<Result<void>> JobRunner::end_message(Run& run, std::optional<jobs::JobRecord> ended) {
  std::vector<queue_service::FollowUp> follow_ups;
  if (ended && run.spec && jobs::has_followers(*run.spec)) {
    follow_ups = CO_TRY(co_await endings_.follow_ups(std::move(*ended), *run.spec));
  }
  if (!follow_ups.empty()) {
    auto finished = co_await services_.queues.finish(run.lease->lease(), follow_ups);
    if (finished) co_return Result<void>{};
    if (finished.error().code != ErrorCode::kIdempotencyKeyReused) co_return fail(std::move(finished.error()));
    // One of them was put before with other words: put the others, then only the message is left.
    CO_TRY(co_await endings_.put(std::move(follow_ups)));
  }
  co_return co_await services_.queues.complete(run.lease->lease());
}

Task<RunEnd> JobRunner::drop(Run& run, std::optional<jobs::JobRecord> ended) {
  co_await run.lease->stop();
  if (ended && !co_await services_.jobs.settle_cancelled(*ended)) co_return RunEnd::kAbandoned;
  if (ended && run.spec && !co_await settle_sweep(services_, *run.spec, run.story.checkpoint, *ended)) {
    co_return RunEnd::kAbandoned;
  }
  auto completed = co_await end_message(run, std::move(ended));
  co_return completed ? RunEnd::kDropped : RunEnd::kAbandoned;
}

Task<RunEnd> JobRunner::overtaken(Run& run) {
  // Fenced by a later delivery, which has the message now, or because the job is over; then nobody needs the message.
  auto record = co_await services_.jobs.find(run.story.job_id);
  if (!record || !record->has_value() || !jobs::is_over((*record)->state)) co_return RunEnd::kAbandoned;
  co_return co_await drop(run, std::move(*record));
}

}  // namespace tidemark::workers
