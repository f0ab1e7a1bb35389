// The operations of the workers and the api: receive with a wait, leases, moves, and single messages by id.
#include "queue_service/storage/queue_core.h"
#include "queue_service/storage/test_switches.h"

namespace tidemark::queue_service {
namespace {

const FailStep kRenewStep("queue.renew");
const FailStep kCompleteStep("queue.complete");
const FailStep kReleaseStep("queue.release");
const FailStep kMoveStep("queue.move");
const FailStep kRedriveStep("queue.redrive");
const FailStep kRemoveStep("queue.remove");

std::optional<Time> later_than(Time now, Duration delay) {
  if (delay <= Duration::zero()) return std::nullopt;
  return now + std::min(delay, kMaxVisibility);
}

}  // namespace

Task<Result<std::optional<Message>>> QueueService::receive(std::string account, std::string queue, Duration visibility,
                                                           Duration wait) {
  const auto gate = core_->arrivals.open(account, queue);
  auto remaining = std::min(wait, kMaxReceiveWait);
  const auto deadline = core_->clock.now() + remaining;
  for (;;) {
    const auto ticket = gate->ticket();
    auto look = core_->look(account, queue);
    if (!look) co_return fail(std::move(look.error()));
    if (look->something || look->worth_tidying) {
      auto task = take(account, queue, 1, visibility);
      auto taken = co_await std::move(task);
      if (!taken) {
        gate->came();  // somebody else may have more luck with the message
        co_return fail(std::move(taken.error()));
      }
      if (!taken->messages.empty()) {
        co_return std::optional<Message>(std::move(taken->messages.front().message));
      }
    }
    // Measured anew, but never more than before: the wall clock may jump back.
    remaining = std::min(remaining, deadline - core_->clock.now());
    if (remaining <= Duration::zero() || core_->stopping.load()) co_return std::optional<Message>();
    if (!look->empty && gate->needs_due()) {
      auto due = core_->first_due(look->generation);
      if (!due) co_return fail(std::move(due.error()));
      if (*due) gate->will_come(**due);
    }
    auto waiting = gate->wait(ticket, remaining);
    const bool woken = co_await std::move(waiting);
    if (!woken) remaining = Duration::zero();
  }
}

Task<Result<void>> QueueService::change_leased(const FailStep& step, LeaseKey lease,
                                               std::function<void(QueueRows&, FoundMessage&)> change) {
  Change checked = [&](QueueRows& rows) -> Result<void> {
    auto found = rows.find(lease.message_id);
    if (!found) return fail(std::move(found.error()));
    if (!*found) return fail(ErrorCode::kLeaseLost);
    const auto& record = (*found)->record;
    const bool held = record.leased && record.message.epoch == lease.epoch;
    if (!held && !test_switches::ignore_epoch.load(std::memory_order_relaxed)) return fail(ErrorCode::kLeaseLost);
    change(rows, **found);
    return {};
  };
  auto task = change_queue(step, lease.account, lease.queue, std::move(checked));
  co_return co_await std::move(task);
}

Task<Result<void>> QueueService::renew(LeaseKey lease, Duration visibility, std::optional<std::string> annotation) {
  if (annotation) {
    auto fits = check_annotation(*annotation);
    if (!fits) co_return fits;
  }
  std::function<void(QueueRows&, FoundMessage&)> change = [&](QueueRows& rows, FoundMessage& found) {
    if (annotation) found.record.message.annotation = *annotation;
    rows.rewrite(found, later_than(core_->clock.now(), visibility));
  };
  auto task = change_leased(kRenewStep, std::move(lease), std::move(change));
  co_return co_await std::move(task);
}

Task<Result<void>> QueueService::complete(LeaseKey lease) {
  std::function<void(QueueRows&, FoundMessage&)> change = [](QueueRows& rows, FoundMessage& found) {
    rows.remove(found);
  };
  auto task = change_leased(kCompleteStep, std::move(lease), std::move(change));
  co_return co_await std::move(task);
}

Task<Result<void>> QueueService::release(LeaseKey lease, Duration delay, std::string annotation, bool count_attempt) {
  auto fits = check_annotation(annotation);
  if (!fits) co_return fits;
  std::function<void(QueueRows&, FoundMessage&)> change = [&](QueueRows& rows, FoundMessage& found) {
    auto& message = found.record.message;
    message.annotation = annotation;
    if (!count_attempt && message.dequeue_count > 0) --message.dequeue_count;
    found.record.leased = false;
    rows.rewrite(found, later_than(core_->clock.now(), delay));
  };
  auto task = change_leased(kReleaseStep, std::move(lease), std::move(change));
  co_return co_await std::move(task);
}

namespace {

/// Out of one queue and into another in the same transaction; the two may be one.
struct Transfer {
  kv::Transaction& txn;
  FrontHints& hints;
  Effects& effects;
  Time now;

  Result<void> run(const std::string& account, const std::string& from, const std::string& to,
                   const std::function<Result<FoundMessage>(QueueRows&)>& choose) {
    MessageRecord record;
    {
      auto source = QueueRows::open(txn, hints, effects, account, from, now);
      if (!source) return fail(std::move(source.error()));
      auto found = choose(*source);
      if (!found) return fail(std::move(found.error()));
      source->remove(*found);
      source->save();
      record = std::move(found->record);
    }
    auto existing = read_queue(txn, account, to);
    if (!existing) return fail(std::move(existing.error()));
    if (!*existing) {
      auto started = start_generation(txn, account, to, QueueRecord{0, now, {}, {}}, Time{});
      if (!started) return fail(std::move(started.error()));
    }
    auto target = QueueRows::open(txn, hints, effects, account, to, now);
    if (!target) return fail(std::move(target.error()));
    record.leased = false;
    target->insert(std::move(record), std::nullopt);
    target->save();
    return {};
  }
};

}  // namespace

Task<Result<void>> QueueService::move(LeaseKey lease, std::string to_queue, std::string annotation) {
  auto named = check_queue_name(to_queue);
  if (!named) co_return named;
  auto fits = check_annotation(annotation);
  if (!fits) co_return fits;
  Core::Body body = [&](kv::Transaction& txn, Effects& effects) -> Result<void> {
    Transfer transfer{txn, core_->hints, effects, core_->clock.now()};
    return transfer.run(lease.account, lease.queue, to_queue, [&](QueueRows& rows) -> Result<FoundMessage> {
      auto found = rows.find(lease.message_id);
      if (!found) return fail(std::move(found.error()));
      if (!*found) return fail(ErrorCode::kLeaseLost);
      auto& record = (*found)->record;
      const bool held = record.leased && record.message.epoch == lease.epoch;
      if (!held && !test_switches::ignore_epoch.load(std::memory_order_relaxed)) return fail(ErrorCode::kLeaseLost);
      record.message.annotation = annotation;
      return std::move(**found);
    });
  };
  auto task = core_->transact(kMoveStep, std::move(body));
  co_return co_await std::move(task);
}

Task<Result<void>> QueueService::redrive(std::string account, std::string queue, std::string id, std::string to_queue,
                                         std::optional<std::string> text, std::string annotation) {
  auto named = check_queue_name(to_queue);
  if (!named) co_return named;
  auto fits = check_annotation(annotation);
  if (!fits) co_return fits;
  if (text) {
    auto text_fits = check_text(*text);
    if (!text_fits) co_return text_fits;
  }
  Core::Body body = [&](kv::Transaction& txn, Effects& effects) -> Result<void> {
    Transfer transfer{txn, core_->hints, effects, core_->clock.now()};
    return transfer.run(account, queue, to_queue, [&](QueueRows& rows) -> Result<FoundMessage> {
      auto found = rows.find(id);
      if (!found) return fail(std::move(found.error()));
      if (!*found) return fail(ErrorCode::kMessageNotFound);
      auto& message = (*found)->record.message;
      message.dequeue_count = 0;
      message.annotation = annotation;
      if (text) message.text = *text;
      return std::move(**found);
    });
  };
  auto task = core_->transact(kRedriveStep, std::move(body));
  co_return co_await std::move(task);
}

Task<Result<void>> QueueService::remove(std::string account, std::string queue, std::string id) {
  Change change = [&](QueueRows& rows) -> Result<void> {
    auto found = rows.find(id);
    if (!found) return fail(std::move(found.error()));
    if (!*found) return fail(ErrorCode::kMessageNotFound);
    rows.remove(**found);
    return {};
  };
  auto task = change_queue(kRemoveStep, account, queue, std::move(change));
  co_return co_await std::move(task);
}

Result<StoredPage> QueueService::list(std::string_view account, std::string_view queue, std::uint32_t limit,
                                      std::string_view continuation) {
  constexpr std::size_t kMaxPageBytes = 4UL << 20;
  Place from;
  if (!continuation.empty()) {
    const auto place = from_receipt(continuation);
    if (!place) return fail(ErrorCode::kInvalidMarker);
    from = *place;
  }
  const auto snapshot = core_->engine.snapshot();
  auto record = require_queue(*snapshot, account, queue);
  if (!record) return fail(std::move(record.error()));
  limit = std::clamp<std::uint32_t>(limit, 1, kMaxMessagesPerList);
  const auto now = core_->clock.now();
  from = std::max(from, core_->hints.front(record->generation));
  StoredPage page;
  std::size_t bytes = 0;
  const auto cursor = snapshot->scan(keys::messages(record->generation, from, Time::max()));
  for (; cursor->valid(); cursor->next()) {
    const auto place = keys::message_place(cursor->key());
    if (!place) return fail(ErrorCode::kCorruption);
    if (page.messages.size() == limit || bytes > kMaxPageBytes) {
      page.continuation = to_receipt(*place);
      break;
    }
    auto found = decode_message(cursor->value());
    if (!found) return fail(std::move(found.error()));
    if (found->message.expires <= now) continue;
    bytes += cursor->value().size();
    found->message.next_visible = place->visible_at;
    page.messages.push_back(std::move(found->message));
  }
  auto status = cursor->status();
  if (!status) return fail(std::move(status.error()));
  return page;
}

Result<std::optional<Message>> QueueService::find(std::string_view account, std::string_view queue,
                                                  std::string_view id) {
  const auto snapshot = core_->engine.snapshot();
  auto record = require_queue(*snapshot, account, queue);
  if (!record) return fail(std::move(record.error()));
  auto found = read_message(*snapshot, record->generation, id);
  if (!found) return fail(std::move(found.error()));
  if (!*found || (*found)->record.message.expires <= core_->clock.now()) return std::optional<Message>();
  return std::optional<Message>(std::move((*found)->record.message));
}

}  // namespace tidemark::queue_service
