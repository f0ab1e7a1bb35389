// Put, get, peek, update, delete, finish and move: the operations on messages of both faces.
#include "common/base/encoding.h"
#include "queue_service/storage/poison_note.h"
#include "queue_service/storage/queue_core.h"
#include "queue_service/storage/served_calls.h"
#include "queue_service/storage/test_switches.h"

namespace tidemark::queue_service {
namespace {

const FailStep kPutStep("queue.put");
const FailStep kTakeStep("queue.take");
const FailStep kUpdateStep("queue.update");
const FailStep kEraseStep("queue.erase");
const FailStep kCompleteStep("queue.complete");
const FailStep kRenewAllStep("queue.renew_all");
const FailStep kFinishStep("queue.finish");
const FailStep kMoveStep("queue.move");
const FailStep kRedriveStep("queue.redrive");

Result<std::optional<IdempotencyRecord>> read_idempotency(const kv::Reader& rows, std::uint64_t generation,
                                                          const std::string& key) {
  const auto bytes = TRY(rows.get(queue_keys::idempotency(generation, key)));
  if (!bytes) return std::optional<IdempotencyRecord>();
  return std::optional(TRY(kIdempotencyRecord.decode(*bytes)));
}

Result<void> check_same(const IdempotencyRecord& before, const std::string& text_hash) {
  if (before.text_hash == text_hash) return {};
  return fail(ErrorCode::kIdempotencyKeyReused, "This idempotency key was used for a different message.");
}

/// The attempts to put a message while its queue gets other parts.
constexpr int kAttempts = 3;
/// Each turn removes up to 256 messages that expired, or moves some that failed too often. A queue must not be called
/// empty while it may have a visible message, so the bound is far above the turns needed in practice.
constexpr int kMaxTakeTurns = 256;
/// This process is not told of messages that come to parts which other processes serve, so one of its waiting callers
/// asks for them this often.
constexpr Duration kLookElsewhere = std::chrono::milliseconds(200);

/// Returns now + span without leaving the years that the protocol can write.
Time bounded_sum(Time now, Duration span) { return span >= kNeverExpires - now ? kNeverExpires : now + span; }

}  // namespace

Result<FoundMessage> find_held(const QueueRows& rows, const LeaseKey& holder) {
  if (holder.epoch == 0) return rows.find_by_receipt(holder.message_id, holder.receipt);
  auto found = TRY(rows.find(holder.message_id));
  if (!found) return fail(ErrorCode::kLeaseLost);
  const auto& record = found->record;
  const bool held = record.leased && record.message.epoch == holder.epoch;
  if (!held && !test_switches::ignore_epoch.load(std::memory_order_relaxed)) return fail(ErrorCode::kLeaseLost);
  return std::move(*found);
}

Result<void> check_put(const PutRequest& request) {
  TRY(check_text(request.text));
  if (!request.group.empty()) TRY(check_key("A group key", request.group, kMaxGroupBytes));
  if (request.idempotency_key.empty()) return {};
  if (request.step) return fail(ErrorCode::kInvalidInput, "A message of a step has no idempotency key.");
  return check_key("An idempotency key", request.idempotency_key, kMaxIdempotencyKeyBytes);
}

std::string hash_of(const PutRequest& request) {
  return request.idempotency_key.empty() ? std::string() : sha256(request.group + '\0' + request.text);
}

Result<Placed> put_in(QueueRows& rows, const PutRequest& request, const std::string& id, const std::string& text_hash) {
  const auto now = rows.now();
  auto& txn = rows.transaction();
  const auto& key = request.idempotency_key;
  if (!key.empty()) {
    const auto before = TRY(read_idempotency(txn, rows.generation(), key));
    if (before && !rows.has_expired(before->row_expires)) {
      TRY(check_same(*before, text_hash));
      return Placed{before->id, rows.receipt_of(before->place), before->inserted, before->message_expires,
                    before->place.visible_at};
    }
    if (before) txn.erase(queue_keys::idempotency_by_age(rows.generation(), before->row_expires, key));
  }
  MessageRecord record;
  record.message.id = id;
  record.message.text = request.text;
  record.message.group = request.group;
  record.turns = request.turns;
  record.message.inserted = now;
  record.message.expires = request.time_to_live ? bounded_sum(now, *request.time_to_live) : kNeverExpires;
  const auto expires = record.message.expires;
  std::optional<Time> visible_at;
  if (request.delay > Duration::zero()) visible_at = now + request.delay;
  const auto place = TRY(rows.insert(std::move(record), visible_at));
  if (!key.empty()) {
    const IdempotencyRecord row{id, text_hash, place, now, expires, now + request.retention};
    txn.put(queue_keys::idempotency(rows.generation(), key), kIdempotencyRecord.encode(row));
    txn.put(queue_keys::idempotency_by_age(rows.generation(), row.row_expires, key), "");
  }
  return Placed{id, rows.receipt_of(place), now, expires, place.visible_at};
}

Result<void> QueueService::Shard::could_put(const std::string& account, const FollowUp& next,
                                            const std::string& text_hash) const {
  const auto snapshot = engine.snapshot();
  const auto queue = TRY(require_queue(*snapshot, account, next.queue));
  if (next.message.idempotency_key.empty()) return {};
  const auto before = TRY(read_idempotency(*snapshot, queue.generation, next.message.idempotency_key));
  return before && before->row_expires > ages.now() ? check_same(*before, text_hash) : Result<void>();
}

Task<Result<Placed>> QueueService::put(std::string account, std::string queue, PutRequest request) {
  CO_TRY(check_put(request));
  if (core_->may_be_spread(queue)) co_return co_await put_into_part(account, queue, request);
  const auto id = core_->random.guid();
  const auto text_hash = hash_of(request);
  const auto put_here = [&](QueueRows& rows) { return put_in(rows, request, id, text_hash); };
  if (request.step) co_return co_await put_once(account, queue, *request.step, put_here);
  co_return co_await change_queue(kPutStep, account, queue, put_here);
}

Task<Result<Placed>> QueueService::put_once(const std::string& account, const std::string& queue, const PutStep& step,
                                            const std::function<Result<Placed>(QueueRows&)>& put_here) {
  const auto shard = core_->of(account, queue).number;
  for (bool entered = false;; entered = true) {
    bool known = false;
    auto placed = co_await change_queue(kPutStep, account, queue, [&](QueueRows& rows) -> Result<Placed> {
      Placed done;
      const auto put = [&](OperationLedger& ledger) -> Result<std::uint64_t> {
        const auto* before = ledger.find_step(step.number);
        if (before != nullptr) done.id = before->effect;
        if (before != nullptr) return 0;
        done = TRY(put_here(rows));
        ledger.steps.push_back({step.number, step.fence.epoch, done.id});
        return 1;
      };
      known = TRY(fenced_on(shard, rows.transaction(), account, step.fence, entered, put));
      return done;
    });
    if (!placed || known) co_return placed;
    CO_TRY(co_await enter(shard, account, step.fence));
  }
}

Task<Result<Placed>> QueueService::put_into_part(const std::string& account, const std::string& queue,
                                                 const PutRequest& request) {
  const auto id = core_->random.guid();
  const auto text_hash = hash_of(request);
  for (int attempt = 1;; ++attempt) {
    const auto part = CO_TRY(core_->part_to_put(account, queue, request));
    bool spread = false;
    const auto put_here = [&](QueueRows& rows) -> Result<Placed> {
      spread = rows.is_spread();
      if (spread) return fail(ErrorCode::kServerBusy);
      return put_in(rows, request, id, text_hash);
    };
    auto placed = part != queue  ? co_await call(calls::PutIntoPart{account, part, request})
                  : request.step ? co_await put_once(account, queue, *request.step, put_here)
                                 : co_await change_queue(kPutStep, account, queue, put_here);
    // The queue was spread meanwhile, or made anew with other parts.
    const bool has_other_parts = spread || (part != queue && placed.failed_with(ErrorCode::kQueueNotFound));
    if (!has_other_parts || attempt == kAttempts) co_return placed;
  }
}

Task<Result<Taken>> QueueService::take(std::string account, std::string queue, TakeRequest request) {
  for (int turn = 0; turn < kMaxTakeTurns; ++turn) {
    auto taken =
        CO_TRY(co_await change_queue(kTakeStep, account, queue, [&](QueueRows& rows) { return rows.take(request); }));
    // If there is nothing to give out so far, a later message may be available.
    if (!taken.more || !taken.messages.empty()) co_return taken;
  }
  co_return fail(ErrorCode::kServerBusy, "Many messages at the front of the queue have to go first. Try again.");
}

Task<Result<std::vector<TakenMessage>>> QueueService::get(std::string account, std::string queue, TakeRequest request,
                                                          WaitRequest wait) {
  auto& shard = core_->of(account, queue);
  const bool may_be_spread = core_->may_be_spread(queue);
  auto remaining = std::min(wait.span, kMaxReceiveWait);
  const bool waits = remaining > Duration::zero();
  if (waits && core_->waits.count() >= core_->limits.max_waiters) co_return fail(ErrorCode::kServerBusy);
  std::shared_ptr<Arrivals::Gate> gate;
  std::optional<Waits::Ticket> waiting;
  if (waits) {
    gate = shard.arrivals.open(account, queue);
    waiting.emplace(core_->waits, std::move(wait.token), gate);
  }
  const auto deadline = core_->clock.now() + remaining;
  const auto is_elsewhere = [&](const TakenMessage& taken) {
    return !core_->here(core_->of(account, taken.message.part));
  };
  bool looks_at_parts = true;
  for (;;) {
    const auto ticket = gate ? gate->ticket() : 0;
    std::optional<Shard::Look> look;
    if (!shard.last_gets.found(account, queue)) look = CO_TRY(shard.look(account, queue));
    if (!look || look->something || look->worth_tidying) {
      auto taken = co_await take(account, queue, request);
      if (!taken) {
        if (gate) gate->came();  // another caller may succeed with the message
        co_return fail(std::move(taken.error()));
      }
      shard.last_gets.note(account, queue, !taken->messages.empty());
      if (!taken->messages.empty()) co_return std::move(taken->messages);
      // A look tells which parts there are, and whether there are messages to wait for.
      if ((gate || may_be_spread) && !look) continue;
    }
    const bool spread = may_be_spread && look->options.parts > 1 && !look->options.paused;
    if (spread && looks_at_parts) {
      auto taken = co_await take_from_parts(account, queue, look->options, request);
      if (!taken || !taken->empty()) {
        if (gate && (!taken || std::ranges::any_of(*taken, is_elsewhere))) gate->came();  // there may be more
        co_return taken;
      }
    }
    // Computed anew, but never larger than before: the wall clock may jump back.
    remaining = std::min(remaining, deadline - core_->clock.now());
    const bool over = remaining <= Duration::zero() || core_->stopping.load() || (waiting && waiting->cancelled()) ||
                      !core_->here(shard);
    if (!gate || over) co_return std::vector<TakenMessage>{};
    if ((spread || !look->empty) && gate->needs_due()) {
      for (const auto& part : CO_TRY(core_->with_parts(account, queue))) {
        auto& its_shard = core_->of(account, part);
        const auto due = core_->here(its_shard) ? CO_TRY(its_shard.first_due(account, part)) : std::nullopt;
        if (due) gate->will_come(*due);
      }
    }
    const auto patience = spread && core_->stored.peers != nullptr ? std::min(remaining, kLookElsewhere) : remaining;
    const bool woken = co_await gate->wait(ticket, patience);
    const bool is_over = !woken && patience == remaining;
    if (is_over) remaining = Duration::zero();
    looks_at_parts = woken || is_over || gate->is_turn(kLookElsewhere);
    if (woken && wait.gone && wait.gone()) {
      gate->came();  // for a caller that is still there
      co_return std::vector<TakenMessage>{};
    }
  }
}

Task<Result<std::vector<Message>>> QueueService::peek(std::string account, std::string queue, std::uint32_t count) {
  std::vector<Message> messages;
  for (const auto& part : CO_TRY(co_await tidied(account, queue))) {
    auto visible = CO_TRY(core_->of(account, part).visible(account, part, count));
    std::ranges::move(visible, std::back_inserter(messages));
  }
  std::ranges::stable_sort(messages, {}, &Message::next_visible);
  if (messages.size() > count) messages.resize(count);
  co_return messages;
}

Task<Result<Placed>> QueueService::update(LeaseKey holder, Duration visibility, std::optional<std::string> text) {
  if (text) CO_TRY(check_text(*text));
  co_return co_await change_held(kUpdateStep, holder, [&](QueueRows& rows, FoundMessage& found) -> Result<Placed> {
    if (text) replace_text(found.record.message, *text, holder.queue);
    found.record.offered = false;
    if (holder.epoch != 0 && visibility == Duration::zero()) found.record.leased = false;
    const auto place = TRY(rows.rewrite(found, rows.now() + visibility));
    const auto& message = found.record.message;
    return Placed{message.id, rows.receipt_of(place), message.inserted, message.expires, place.visible_at};
  });
}

Task<Result<void>> QueueService::erase(LeaseKey holder) {
  const auto& step = holder.epoch == 0 ? kEraseStep : kCompleteStep;
  co_return co_await change_held(step, std::move(holder), [](QueueRows& rows, FoundMessage& found) {
    ++rows.figures().finished;
    return rows.remove(found);
  });
}

Task<Result<std::vector<bool>>> QueueService::erase_all(std::string account, std::string queue,
                                                        std::vector<LeaseKey> holders) {
  const auto erase_held = [&](QueueRows& rows) -> Result<std::vector<bool>> {
    std::vector<bool> gone(holders.size(), false);
    for (std::size_t i = 0; i < holders.size(); ++i) {
      auto found = find_held(rows, holders[i]);
      if (found.failed_with(ErrorCode::kLeaseLost)) continue;
      TRY(rows.remove(TRY(std::move(found))));
      ++rows.figures().finished;
      gone[i] = true;
    }
    return gone;
  };
  co_return co_await change_queue(kCompleteStep, std::move(account), std::move(queue), erase_held);
}

Task<Result<std::vector<bool>>> QueueService::renew_all(std::string account, std::string queue,
                                                        std::vector<LeaseKey> holders, Duration visibility) {
  const auto renew_held = [&](QueueRows& rows) -> Result<std::vector<bool>> {
    std::vector<bool> held(holders.size(), false);
    for (std::size_t i = 0; i < holders.size(); ++i) {
      auto found = find_held(rows, holders[i]);
      if (found.failed_with(ErrorCode::kLeaseLost)) continue;
      auto message = TRY(std::move(found));
      message.record.offered = false;
      TRY(rows.rewrite(message, rows.now() + visibility));
      held[i] = true;
    }
    return held;
  };
  co_return co_await change_queue(kRenewAllStep, std::move(account), std::move(queue), renew_held);
}

Task<Result<std::vector<Placed>>> QueueService::finish(LeaseKey holder, std::vector<FollowUp> follow_ups) {
  if (follow_ups.size() > kMaxFollowUps) {
    co_return fail(ErrorCode::kInvalidInput, "A message may have at most 32 follow-ups.");
  }
  std::vector<std::string> ids, hashes;
  for (const auto& next : follow_ups) {
    CO_TRY(check_put(next.message));
    CO_TRY(check_is_whole(next.queue));
    if (next.message.step) co_return fail(ErrorCode::kInvalidInput, "A follow-up is no step.");
    ids.push_back(core_->random.guid());
    hashes.push_back(hash_of(next.message));
  }
  for (auto& next : follow_ups) next.queue = CO_TRY(core_->part_to_put(holder.account, next.queue, next.message));
  auto& home = core_->to_write(holder.account, holder.queue);
  for (std::size_t i = 0; i < follow_ups.size(); ++i) {
    const auto& shard = core_->of(holder.account, follow_ups[i].queue);
    if (&shard == &home) continue;
    if (auto refused = shard.could_put(holder.account, follow_ups[i], hashes[i]); !refused) {
      // A caller that does not hold the message any more is told that first.
      const auto holds = [](QueueRows&, FoundMessage&) { return Result<void>(); };
      CO_TRY(co_await change_held(kFinishStep, std::move(holder), holds));
      co_return fail(std::move(refused.error()));
    }
  }
  const auto arrived = CO_TRY(core_->arrived_before(home));
  std::vector<Placed> placed;
  std::vector<Onward> departures;  // null: it is on this shard
  const auto at = home.moment();
  Shard::Body put_all = [&](kv::Transaction& txn, Effects& effects) -> Result<void> {
    placed.assign(follow_ups.size(), {});
    departures.assign(follow_ups.size(), {});
    for (std::size_t i = 0; i < follow_ups.size(); ++i) {
      const auto& message = follow_ups[i].message;
      auto queue = follow_ups[i].queue;
      if (!is_part(queue)) {
        const Core::Sorting by{message.group, message.idempotency_key};
        queue = TRY(core_->part_by_now(txn, home, holder.account, std::move(queue), by));
      }
      if (auto& shard = core_->of(holder.account, queue); &shard != &home) {
        const Departure departure{holder.account, queue, ids[i], message};
        departures[i] = TRY(depart(txn, home.carriers, shard.number, departure, arrived));
        continue;
      }
      auto rows = TRY(QueueRows::open(txn, effects, holder.account, queue, at));
      placed[i] = TRY(put_in(rows, message, ids[i], hashes[i]));
      rows.save();
    }
    return {};
  };
  const bool in_two = test_switches::finish_in_two.load(std::memory_order_relaxed);
  Shard::Body body = [&](kv::Transaction& txn, Effects& effects) -> Result<void> {
    {
      auto rows = TRY(QueueRows::open(txn, effects, holder.account, holder.queue, at));
      auto found = TRY(find_held(rows, holder));
      TRY(rows.remove(found));
      ++rows.figures().finished;
      rows.save();
    }
    return in_two ? Result<void>{} : put_all(txn, effects);
  };
  auto done = co_await home.transact(kFinishStep, std::move(body));
  if (done && in_two) {
    done = co_await home.transact(kFinishStep, std::move(put_all));
  }
  if (!done) co_return fail(std::move(done.error()));
  for (std::size_t i = 0; i < follow_ups.size(); ++i) {
    if (!departures[i]) continue;
    auto put = co_await core_->follow(home, std::move(departures[i]));
    if (!put) {
      core_->carry_soon();  // the other departures
      co_return fail(std::move(put.error()));
    }
    placed[i] = std::move(*put);
  }
  co_return placed;
}

Result<Placed> insert_moved(QueueRows& rows, MessageRecord record) {
  const auto& message = record.message;
  Placed placed{message.id, {}, message.inserted, message.expires, {}};
  const auto place = TRY(rows.insert(std::move(record), std::nullopt));
  rows.save();
  placed.receipt = rows.receipt_of(place);
  placed.next_visible = place.visible_at;
  return placed;
}

namespace {

/// Returns a message that was taken out of one queue, in the form in which it goes into the other.
MessageRecord moved(MessageRecord record, const MoveRequest& request, const std::string& from, Time now) {
  record = released(std::move(record));
  auto& message = record.message;
  message.annotation =
      request.reason ? annotation_of(record, {*request.reason, whole_queue(from), now}) : request.annotation;
  if (is_poison_queue(request.to_queue)) message.expires = kNeverExpires;
  if (request.reset_dequeue_count) {
    message.dequeue_count = 0;
    record.deliveries.clear();
  }
  if (!request.count_attempt && message.dequeue_count > 0) --message.dequeue_count;
  if (request.text) replace_text(message, *request.text, from);
  if (request.leaves_group) message.group.clear();
  return record;
}

}  // namespace

/// Moves a message out of one queue and into another; the two may be the same.
Task<Result<Placed>> QueueService::transfer(const FailStep& step, std::string account, std::string from,
                                            MoveRequest request, Choice choose) {
  CO_TRY(check_queue_name(request.to_queue));
  CO_TRY(check_annotation(request.annotation));
  if (request.text) CO_TRY(check_text(*request.text));
  auto& home = core_->to_write(account, from);
  const auto parts = CO_TRY(core_->parts_of(account, request.to_queue));
  const auto arrived = CO_TRY(core_->arrived_before(home));
  const auto turn = core_->next_turn();
  Arrival arrival;
  const auto at = home.moment();
  Shard::Body body = [&](kv::Transaction& txn, Effects& effects) -> Result<void> {
    auto source = TRY(QueueRows::open(txn, effects, account, from, at));
    auto found = TRY(choose(source));
    TRY(source.remove(found));
    ++source.figures().moved;
    source.save();
    auto record = moved(std::move(found.record), request, from, at.now);
    const std::string_view group = record.message.group;
    auto to = core_->part_to_move(account, from, request.to_queue, parts, {group, {}, turn});
    to = TRY(core_->part_by_now(txn, home, account, std::move(to), {group, {}}));
    if (const auto& other = core_->of(account, to); &other != &home) {
      const Departure departure{account, to, record.message.id, {}, encode(record)};
      arrival = TRY(depart(txn, home.carriers, other.number, departure, arrived));
      return {};
    }
    auto target = TRY(QueueRows::open_or_create(txn, effects, account, to, at));
    arrival = TRY(insert_moved(target, std::move(record)));
    return {};
  };
  CO_TRY(co_await home.transact(step, std::move(body)));
  co_return co_await core_->follow(home, std::move(arrival));
}

Task<Result<Placed>> QueueService::move(LeaseKey holder, MoveRequest request) {
  co_return co_await transfer(kMoveStep, holder.account, holder.queue, std::move(request),
                              [&](QueueRows& rows) { return find_held(rows, holder); });
}

Task<Result<void>> QueueService::redrive(std::string account, std::string queue, std::string id, MoveRequest request,
                                         std::optional<std::uint64_t> epoch) {
  CO_TRY(check_listed(queue));
  auto part = CO_TRY(part_with(account, queue, id));
  if (part != queue) {
    calls::RedriveFromPart there{std::move(account), std::move(part), std::move(id), std::move(request), epoch};
    co_return co_await call(std::move(there));
  }
  const auto seen = request.seen;
  const auto choose = [&](QueueRows& rows) -> Result<FoundMessage> {
    auto found = TRY(find_listed(rows, id, epoch));
    TRY(check_seen(found.record.message, seen));
    return found;
  };
  CO_TRY(co_await transfer(kRedriveStep, std::move(account), std::move(part), std::move(request), choose));
  co_return Result<void>{};
}

}  // namespace tidemark::queue_service
