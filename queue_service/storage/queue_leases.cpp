// The operations that only a holder by lease can do, and operations for people on single messages by id.
#include <map>

#include "common/base/encoding.h"
#include "queue_service/storage/queue_core.h"
#include "queue_service/storage/served_calls.h"

namespace tidemark::queue_service {
namespace {

const FailStep kRenewStep("queue.renew");
const FailStep kReleaseStep("queue.release");
const FailStep kWithdrawStep("queue.withdraw");
const FailStep kRemoveStep("queue.remove");

std::optional<Time> later_than(Time now, Duration delay) {
  if (delay <= Duration::zero()) return std::nullopt;
  return now + std::min(delay, kMaxVisibility);
}

Result<bool> withdraw_from(QueueRows rows, const MessageName& message) {
  const auto found = TRY(read_named(rows.transaction(), rows.generation(), message));
  if (!found || (found->was_leased && found->place.visible_at > rows.now())) return false;
  TRY(rows.remove(*found));
  ++rows.figures().finished;
  rows.save();
  return true;
}

}  // namespace

Result<void> check_listed(std::string_view queue) {
  if (is_poison_queue(queue)) return {};
  return fail(ErrorCode::kInvalidInput, "Only messages of a poison queue can be named by their id alone.");
}

Result<FoundMessage> find_listed(const QueueRows& rows, const std::string& id, std::optional<std::uint64_t> epoch) {
  auto found = TRY(rows.find(id));
  const bool is_meant = found && (!epoch || found->record.message.epoch == *epoch);
  if (!is_meant) return fail(ErrorCode::kMessageNotFound);
  return std::move(*found);
}

Task<Result<void>> QueueService::renew(LeaseKey lease, Duration visibility, std::optional<std::string> annotation,
                                       std::uint64_t sequence) {
  if (annotation) CO_TRY(check_annotation(*annotation));
  const auto change = [&](QueueRows& rows, FoundMessage& found) -> Result<void> {
    auto& record = found.record;
    if (sequence != 0 && sequence < record.renewal) {
      return fail(ErrorCode::kFenced, "A later renewal of this lease came first.");
    }
    record.renewal = std::max(record.renewal, sequence);
    record.offered = false;
    if (annotation) record.message.annotation = *annotation;
    TRY(rows.rewrite(found, later_than(rows.now(), visibility)));
    return {};
  };
  co_return co_await change_held(kRenewStep, std::move(lease), change);
}

Task<Result<void>> QueueService::release(LeaseKey lease, Duration delay, std::optional<std::string> annotation,
                                         bool count_attempt) {
  if (annotation) CO_TRY(check_annotation(*annotation));
  const auto change = [&](QueueRows& rows, FoundMessage& found) -> Result<void> {
    auto& record = found.record;
    if (annotation) record.message.annotation = *annotation;
    if (!count_attempt && record.message.dequeue_count > 0) --record.message.dequeue_count;
    record.leased = false;
    record.offered = false;
    TRY(rows.rewrite(found, later_than(rows.now(), delay)));
    return {};
  };
  co_return co_await change_held(kReleaseStep, std::move(lease), change);
}

Task<Result<void>> QueueService::give_back(LeaseKey holder) {
  co_return co_await release(std::move(holder), Duration::zero(), std::nullopt, false);
}

Result<bool> QueueService::holds(const std::string& account, const std::vector<std::string>& whole_queues,
                                 const MessageName& message) {
  const auto queues = TRY(core_->with_parts(account, whole_queues));
  for (const auto& shard : core_->shards) {
    const auto snapshot = shard->engine.snapshot();
    for (const auto& queue : queues) {
      if (&core_->of(account, queue) != shard.get()) continue;
      const auto record = TRY(read_queue(*snapshot, account, queue));
      if (record && TRY(read_named(*snapshot, record->generation, message))) return true;
    }
    if (core_->shards.size() > 1 && TRY(is_on_its_way(*snapshot, account, queues, message.id))) return true;
  }
  return false;
}

Task<Result<bool>> QueueService::withdraw(std::string account, std::vector<std::string> queues, MessageName message) {
  bool withdrawn = false;
  std::map<std::size_t, std::vector<std::string>> by_shard;
  for (auto& queue : CO_TRY(core_->with_parts(account, queues))) {
    by_shard[core_->of(account, queue).number].push_back(std::move(queue));
  }
  for (auto& [number, its_queues] : by_shard) {
    const bool there = CO_TRY(co_await call(calls::WithdrawHere{number, account, std::move(its_queues), message}));
    withdrawn = withdrawn || there;
  }
  co_return withdrawn;
}

Task<Result<bool>> QueueService::withdraw_here(std::size_t number, std::string account, std::vector<std::string> queues,
                                               MessageName message) {
  bool withdrawn = false;
  auto& shard = *core_->shards[number];
  const auto at = shard.moment();
  CO_TRY(co_await shard.transact(kWithdrawStep, [&](kv::Transaction& txn, Effects& effects) -> Result<void> {
    withdrawn = false;
    for (const auto& queue : queues) {
      auto rows = QueueRows::open(txn, effects, account, queue, at);
      if (rows.failed_with(ErrorCode::kQueueNotFound)) continue;
      withdrawn = TRY(withdraw_from(TRY(std::move(rows)), message)) || withdrawn;
    }
    return {};
  }));
  co_return withdrawn;
}

Task<Result<void>> QueueService::remove(std::string account, std::string queue, std::string id,
                                        std::optional<std::uint64_t> epoch) {
  CO_TRY(check_listed(queue));
  auto part = CO_TRY(part_with(account, queue, id));
  if (part != queue) {
    co_return co_await call(calls::RemoveFromPart{std::move(account), std::move(part), std::move(id), epoch});
  }
  co_return co_await change_queue(kRemoveStep, std::move(account), std::move(part),
                                  [&](QueueRows& rows) -> Result<void> {
                                    const auto found = TRY(find_listed(rows, id, epoch));
                                    ++rows.figures().finished;
                                    return rows.remove(found);
                                  });
}

namespace {

constexpr std::size_t kMaxPageBytes = 4UL << 20;

/// Where a listing goes on: at a place among the ready and timed messages, or after a key of the waiting ones.
struct ListPosition {
  Place from;
  bool waiting = false;
  std::string after;
};

Result<ListPosition> read_position(std::string_view continuation) {
  ListPosition position;
  if (continuation.empty()) return position;
  const auto bytes = base64_decode(continuation.substr(1));
  position.waiting = continuation[0] == 'w';
  if (!bytes || (!position.waiting && continuation[0] != 'p')) return fail(ErrorCode::kInvalidMarker);
  if (position.waiting) {
    position.after = *bytes;
    return position;
  }
  const auto place = place_from_bytes(*bytes);
  if (!place) return fail(ErrorCode::kInvalidMarker);
  position.from = *place;
  return position;
}

/// A page being filled; add() returns false for a message that does not fit on it any more.
struct PageBuilder {
  MessagePage page;
  std::uint32_t limit;
  Time age;
  std::size_t bytes = 0;
  [[nodiscard]] bool full() const { return page.messages.size() == limit || bytes > kMaxPageBytes; }
  Result<void> add(std::string_view value, Time next_visible) {
    auto record = TRY(decode_message(value));
    if (record.message.expires <= age) return {};
    bytes += value.size();
    record.message.next_visible = next_visible == Time{} ? record.receipt.value_or(Place{}).visible_at : next_visible;
    page.messages.push_back(std::move(record.message));
    return {};
  }
};

}  // namespace

Result<MessagePage> QueueService::list_part(std::string_view account, std::string_view queue, std::uint32_t limit,
                                            std::string_view continuation) {
  auto position = TRY(read_position(continuation));
  auto& shard = core_->of(account, queue);
  const auto snapshot = shard.engine.snapshot();
  auto record = TRY(require_queue(*snapshot, account, queue));
  auto figures = TRY(read_figures(*snapshot, record.generation));
  PageBuilder builder{{}, std::clamp<std::uint32_t>(limit, 1, kMaxMessagesPerList), shard.ages.now()};
  if (!position.waiting) {
    PlacedRows rows(*snapshot, record.generation, figures, Time::max(), position.from);
    for (; rows.valid(); rows.next()) {
      if (builder.full()) {
        builder.page.continuation = "p" + base64_encode(place_bytes(rows.place()));
        return std::move(builder.page);
      }
      TRY(builder.add(rows.value(), rows.place().visible_at));
    }
    TRY(rows.status());
  }
  std::string last = position.after;
  const auto range = queue_keys::all_waiting(record.generation, last);
  if (!last.empty() && (last < queue_keys::all_waiting(record.generation, "").lower || last >= range.upper)) {
    return fail(ErrorCode::kInvalidMarker);
  }
  const auto cursor = snapshot->scan(range);
  for (; cursor->valid(); cursor->next()) {
    if (builder.full()) {
      builder.page.continuation = "w" + base64_encode(last);
      break;
    }
    TRY(builder.add(cursor->value(), Time{}));
    last = cursor->key();
  }
  TRY(cursor->status());
  return std::move(builder.page);
}

Result<std::optional<Message>> QueueService::find(std::string_view account, std::string_view queue,
                                                  std::string_view id) {
  TRY(check_listed(queue));
  auto found = TRY(find_in_parts(account, queue, id));
  return found ? std::optional(std::move(found->message)) : std::nullopt;
}

}  // namespace tidemark::queue_service
