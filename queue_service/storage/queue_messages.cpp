// Put, get, peek, update, delete, finish and move: what both faces do with messages.
#include "common/base/encoding.h"
#include "queue_service/storage/poison_note.h"
#include "queue_service/storage/queue_core.h"
#include "queue_service/storage/test_switches.h"

namespace tidemark::queue_service {
namespace {

const FailStep kPutStep("queue.put");
const FailStep kTakeStep("queue.take");
const FailStep kUpdateStep("queue.update");
const FailStep kEraseStep("queue.erase");
const FailStep kCompleteStep("queue.complete");
const FailStep kFinishStep("queue.finish");
const FailStep kMoveStep("queue.move");
const FailStep kRedriveStep("queue.redrive");

/// now + span without leaving the years the protocol can write.
Time bounded_sum(Time now, Duration span) { return span >= kNeverExpires - now ? kNeverExpires : now + span; }

/// The message its holder speaks of: kLeaseLost by epoch; kMessageNotFound, kPopReceiptMismatch by receipt.
Result<FoundMessage> find_held(const QueueRows& rows, const LeaseKey& holder) {
  if (holder.epoch == 0) return rows.find_by_receipt(holder.message_id, holder.receipt);
  auto found = rows.find(holder.message_id);
  if (!found) return fail(std::move(found.error()));
  if (!*found) return fail(ErrorCode::kLeaseLost);
  const auto& record = (*found)->record;
  const bool held = record.leased && record.message.epoch == holder.epoch;
  if (!held && !test_switches::ignore_epoch.load(std::memory_order_relaxed)) return fail(ErrorCode::kLeaseLost);
  return std::move(**found);
}

}  // namespace

Result<void> check_put(const PutRequest& request) {
  if (auto fits = check_text(request.text); !fits) return fits;
  if (!request.group.empty()) {
    if (auto ok = check_key("A group key", request.group, kMaxGroupBytes); !ok) return ok;
  }
  if (request.idempotency_key.empty()) return {};
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
    auto bytes = txn.get(keys::idempotency(rows.generation(), key));
    if (!bytes) return fail(std::move(bytes.error()));
    if (*bytes) {
      auto before = decode_idempotency(**bytes);
      if (!before) return fail(std::move(before.error()));
      if (before->row_expires > now && before->text_hash != text_hash) {
        return fail(ErrorCode::kIdempotencyKeyReused, "This idempotency key was used for a different message.");
      }
      if (before->row_expires > now) {
        return Placed{before->id, to_receipt(before->place), before->inserted, before->message_expires,
                      before->place.visible_at};
      }
      txn.erase(keys::idempotency_by_age(rows.generation(), before->row_expires, key));
    }
  }
  MessageRecord record;
  record.message.id = id;
  record.message.text = request.text;
  record.message.group = request.group;
  record.message.inserted = now;
  record.message.expires = request.time_to_live ? bounded_sum(now, *request.time_to_live) : kNeverExpires;
  const auto expires = record.message.expires;
  std::optional<Time> visible_at;
  if (request.delay > Duration::zero()) visible_at = now + request.delay;
  const auto place = rows.insert(std::move(record), visible_at);
  if (!place) return fail(place.error());
  if (!key.empty()) {
    const IdempotencyRecord row{id, text_hash, *place, now, expires, now + request.retention};
    txn.put(keys::idempotency(rows.generation(), key), encode(row));
    txn.put(keys::idempotency_by_age(rows.generation(), row.row_expires, key), "");
  }
  return Placed{id, to_receipt(*place), now, expires, place->visible_at};
}

Task<Result<Placed>> QueueService::put(std::string account, std::string queue, PutRequest request) {
  if (auto fits = check_put(request); !fits) co_return fail(std::move(fits.error()));
  Placed placed;
  const auto id = core_->random.guid();
  const auto text_hash = hash_of(request);
  Change change = [&](QueueRows& rows) -> Result<void> {
    auto put = put_in(rows, request, id, text_hash);
    if (!put) return fail(std::move(put.error()));
    placed = std::move(*put);
    return {};
  };
  auto task = change_queue(kPutStep, account, queue, std::move(change));
  auto done = co_await std::move(task);
  if (!done) co_return fail(std::move(done.error()));
  co_return placed;
}

Task<Result<Taken>> QueueService::take(std::string account, std::string queue, TakeRequest request) {
  for (;;) {
    Taken taken;
    Change change = [&](QueueRows& rows) -> Result<void> {
      auto got = rows.take(request);
      if (!got) return fail(std::move(got.error()));
      taken = std::move(*got);
      return {};
    };
    auto task = change_queue(kTakeStep, account, queue, std::move(change));
    auto done = co_await std::move(task);
    if (!done) co_return fail(std::move(done.error()));
    // Nothing to give out so far: what comes after it may be.
    if (taken.more && taken.messages.empty()) continue;
    co_return taken;
  }
}

Task<Result<std::vector<TakenMessage>>> QueueService::get(std::string account, std::string queue, TakeRequest request,
                                                          WaitRequest wait) {
  auto remaining = std::min(wait.span, kMaxReceiveWait);
  const bool waits = remaining > Duration::zero();
  if (waits && core_->waits.count() >= core_->limits.max_waiters) co_return fail(ErrorCode::kServerBusy);
  std::shared_ptr<Arrivals::Gate> gate;
  std::optional<Waits::Ticket> waiting;
  if (waits) {
    gate = core_->arrivals.open(account, queue);
    waiting.emplace(core_->waits, std::move(wait.token), gate);
  }
  const auto deadline = core_->clock.now() + remaining;
  for (;;) {
    const auto ticket = gate ? gate->ticket() : 0;
    std::optional<Core::Look> look;
    if (!core_->last_gets.found(account, queue)) {
      auto looked = core_->look(account, queue);
      if (!looked) co_return fail(std::move(looked.error()));
      look = *looked;
    }
    if (!look || look->something || look->worth_tidying) {
      auto task = take(account, queue, request);
      auto taken = co_await std::move(task);
      if (!taken) {
        if (gate) gate->came();  // somebody else may have more luck with the message
        co_return fail(std::move(taken.error()));
      }
      core_->last_gets.note(account, queue, !taken->messages.empty());
      if (!taken->messages.empty()) co_return std::move(taken->messages);
      if (gate && !look) continue;  // what there is to wait for, a look tells
    }
    // Measured anew, but never more than before: the wall clock may jump back.
    remaining = std::min(remaining, deadline - core_->clock.now());
    const bool over = remaining <= Duration::zero() || core_->stopping.load() || (waiting && waiting->cancelled());
    if (!gate || over) co_return std::vector<TakenMessage>{};
    if (!look->empty && gate->needs_due()) {
      auto due = core_->first_due(look->generation);
      if (!due) co_return fail(std::move(due.error()));
      if (*due) gate->will_come(**due);
    }
    auto pause = gate->wait(ticket, remaining);
    const bool woken = co_await std::move(pause);
    if (!woken) remaining = Duration::zero();
    if (woken && wait.gone && wait.gone()) {
      gate->came();  // for somebody who is there
      co_return std::vector<TakenMessage>{};
    }
  }
}

void QueueService::cancel_wait(const std::string& token) { core_->waits.cancel(token); }

Task<Result<std::vector<Message>>> QueueService::peek(std::string account, std::string queue, std::uint32_t count) {
  auto look = core_->look(account, queue);
  if (!look) co_return fail(std::move(look.error()));
  if (look->may_have_expired) {
    auto tidying = tidy(account, queue);
    auto tidied = co_await std::move(tidying);
    if (!tidied) co_return fail(std::move(tidied.error()));
  }
  co_return core_->visible(account, queue, count);
}

Task<Result<void>> QueueService::change_held(const FailStep& step, LeaseKey holder, HeldChange change) {
  Change checked = [&](QueueRows& rows) -> Result<void> {
    auto found = find_held(rows, holder);
    if (!found) return fail(std::move(found.error()));
    return change(rows, *found);
  };
  auto task = change_queue(step, holder.account, holder.queue, std::move(checked));
  co_return co_await std::move(task);
}

Task<Result<Placed>> QueueService::update(LeaseKey holder, Duration visibility, std::optional<std::string> text) {
  if (text) {
    if (auto fits = check_text(*text); !fits) co_return fail(std::move(fits.error()));
  }
  Placed placed;
  HeldChange change = [&](QueueRows& rows, FoundMessage& found) -> Result<void> {
    if (text) found.record.message.text = *text;
    found.record.offered = false;
    if (holder.epoch != 0 && visibility == Duration::zero()) found.record.leased = false;
    const auto place = rows.rewrite(found, rows.now() + visibility);
    if (!place) return fail(place.error());
    const auto& message = found.record.message;
    placed = {message.id, to_receipt(*place), message.inserted, message.expires, place->visible_at};
    return {};
  };
  auto task = change_held(kUpdateStep, holder, std::move(change));
  auto done = co_await std::move(task);
  if (!done) co_return fail(std::move(done.error()));
  co_return placed;
}

Task<Result<void>> QueueService::erase(LeaseKey holder) {
  HeldChange change = [](QueueRows& rows, FoundMessage& found) {
    ++rows.figures().finished;
    return rows.remove(found);
  };
  const auto& step = holder.epoch == 0 ? kEraseStep : kCompleteStep;
  auto task = change_held(step, std::move(holder), std::move(change));
  co_return co_await std::move(task);
}

Task<Result<std::vector<bool>>> QueueService::erase_all(std::string account, std::string queue,
                                                        std::vector<LeaseKey> holders) {
  std::vector<bool> gone;
  Change change = [&](QueueRows& rows) -> Result<void> {
    gone.assign(holders.size(), false);
    for (std::size_t i = 0; i < holders.size(); ++i) {
      auto found = find_held(rows, holders[i]);
      if (!found && found.error().code != ErrorCode::kLeaseLost) return fail(std::move(found.error()));
      if (!found) continue;
      ++rows.figures().finished;
      if (auto removed = rows.remove(*found); !removed) return removed;
      gone[i] = true;
    }
    return {};
  };
  auto task = change_queue(kCompleteStep, std::move(account), std::move(queue), std::move(change));
  auto done = co_await std::move(task);
  if (!done) co_return fail(std::move(done.error()));
  co_return gone;
}

Task<Result<std::vector<Placed>>> QueueService::finish(LeaseKey holder, std::vector<FollowUp> follow_ups) {
  if (follow_ups.size() > kMaxFollowUps) {
    co_return fail(ErrorCode::kInvalidInput, "A message may have at most 32 follow-ups.");
  }
  std::vector<std::string> ids, hashes;
  for (const auto& next : follow_ups) {
    if (auto fits = check_put(next.message); !fits) co_return fail(std::move(fits.error()));
    ids.push_back(core_->random.guid());
    hashes.push_back(hash_of(next.message));
  }
  std::vector<Placed> placed;
  const auto now = core_->clock.now();
  Core::Body put_all = [&](kv::Transaction& txn, Effects& effects) -> Result<void> {
    placed.clear();
    for (std::size_t i = 0; i < follow_ups.size(); ++i) {
      auto rows = QueueRows::open(txn, effects, holder.account, follow_ups[i].queue, now);
      if (!rows) return fail(std::move(rows.error()));
      auto put = put_in(*rows, follow_ups[i].message, ids[i], hashes[i]);
      if (!put) return fail(std::move(put.error()));
      placed.push_back(std::move(*put));
      rows->save();
    }
    return {};
  };
  const bool in_two = test_switches::finish_in_two.load(std::memory_order_relaxed);
  Core::Body body = [&](kv::Transaction& txn, Effects& effects) -> Result<void> {
    {
      auto rows = QueueRows::open(txn, effects, holder.account, holder.queue, now);
      if (!rows) return fail(std::move(rows.error()));
      auto found = find_held(*rows, holder);
      if (!found) return fail(std::move(found.error()));
      if (auto removed = rows->remove(*found); !removed) return removed;
      ++rows->figures().finished;
      rows->save();
    }
    return in_two ? Result<void>{} : put_all(txn, effects);
  };
  auto task = core_->transact(kFinishStep, std::move(body));
  auto done = co_await std::move(task);
  if (done && in_two) {
    auto later = core_->transact(kFinishStep, std::move(put_all));
    done = co_await std::move(later);
  }
  if (!done) co_return fail(std::move(done.error()));
  co_return placed;
}

/// Out of one queue and into another in the same transaction; the two may be one.
Task<Result<Placed>> QueueService::transfer(const FailStep& step, std::string account, std::string from,
                                            MoveRequest request, Choice choose) {
  if (auto named = check_queue_name(request.to_queue); !named) co_return fail(std::move(named.error()));
  if (auto fits = check_annotation(request.annotation); !fits) co_return fail(std::move(fits.error()));
  if (request.text) {
    if (auto fits = check_text(*request.text); !fits) co_return fail(std::move(fits.error()));
  }
  Placed placed;
  const auto now = core_->clock.now();
  Core::Body body = [&](kv::Transaction& txn, Effects& effects) -> Result<void> {
    MessageRecord record;
    {
      auto source = QueueRows::open(txn, effects, account, from, now);
      if (!source) return fail(std::move(source.error()));
      auto found = choose(*source);
      if (!found) return fail(std::move(found.error()));
      if (auto removed = source->remove(*found); !removed) return removed;
      ++source->figures().moved;
      source->save();
      record = released(std::move(found->record));
    }
    auto target = QueueRows::open_or_create(txn, effects, account, request.to_queue, now);
    if (!target) return fail(std::move(target.error()));
    auto& message = record.message;
    message.annotation = request.reason ? annotation_of(record, {*request.reason, from, now}) : request.annotation;
    if (is_poison_queue(request.to_queue)) message.expires = kNeverExpires;
    if (request.reset_dequeue_count) {
      message.dequeue_count = 0;
      record.deliveries.clear();
    }
    if (request.text) message.text = *request.text;
    placed = {message.id, {}, message.inserted, message.expires, {}};
    auto place = target->insert(std::move(record), std::nullopt);
    if (!place) return fail(std::move(place.error()));
    target->save();
    placed.receipt = to_receipt(*place);
    placed.next_visible = place->visible_at;
    return {};
  };
  auto task = core_->transact(step, std::move(body));
  auto done = co_await std::move(task);
  if (!done) co_return fail(std::move(done.error()));
  co_return placed;
}

Task<Result<Placed>> QueueService::move(LeaseKey holder, MoveRequest request) {
  const auto account = holder.account;
  const auto from = holder.queue;
  Choice choose = [holder = std::move(holder)](QueueRows& rows) { return find_held(rows, holder); };
  auto task = transfer(kMoveStep, account, from, std::move(request), std::move(choose));
  co_return co_await std::move(task);
}

Task<Result<void>> QueueService::redrive(std::string account, std::string queue, std::string id, MoveRequest request) {
  if (auto listed = check_listed(queue); !listed) co_return fail(std::move(listed.error()));
  Choice choose = [id = std::move(id)](QueueRows& rows) -> Result<FoundMessage> {
    auto found = rows.find(id);
    if (!found) return fail(std::move(found.error()));
    if (!*found) return fail(ErrorCode::kMessageNotFound);
    return std::move(**found);
  };
  auto task = transfer(kRedriveStep, std::move(account), std::move(queue), std::move(request), std::move(choose));
  auto moved = co_await std::move(task);
  if (!moved) co_return fail(std::move(moved.error()));
  co_return Result<void>{};
}

}  // namespace tidemark::queue_service
