// Upkeep removes rows that have outlived their use: expired messages that no walk meets, because a live one is before
// them, and idempotency keys dead by age. A scan is one snapshot, walked in turns so that requests go on and a queue of
// any length takes the same memory; only dead rows cost a transaction. A queue is swept only if something in it may
// have expired.
#include "common/process/failures.h"
#include "queue_service/storage/queue_core.h"

namespace tidemark::queue_service {
namespace {

const FailStep kSweepStep("queue.sweep");
const FailStep kDropKeysStep("queue.drop_keys");

constexpr std::size_t kPerTransaction = 256;
// A turn of an I/O thread stays under about a millisecond.
constexpr std::size_t kRowsPerTurn = 1000;
constexpr std::size_t kBytesPerTurn = 512UL << 10;
constexpr std::size_t kQueuesPerTurn = 64;
/// The time until the next try, after a departed message could not be brought to its shard.
constexpr Duration kCarryAgain = std::chrono::seconds(1);

/// Some messages that expired, and the time when the first of all others met so far will expire.
struct Expired {
  struct Item {
    std::optional<Place> place;
    std::string waiting_id;  // of a message that has no place of its own yet
  };
  std::vector<Item> items;
  Time first_of_others = kNeverExpires;

  /// Continues the walk for one turn.
  Result<void> collect(kv::Cursor& cursor, bool waiting, Time age) {
    std::size_t bytes = 0;
    for (std::size_t n = 0; cursor.valid() && n < kRowsPerTurn && items.size() < kPerTransaction; cursor.next(), ++n) {
      bytes += cursor.value().size();
      if (bytes > kBytesPerTurn && n > 0) break;
      const auto glance = TRY(glance_at(cursor.value()));
      if (glance.expires > age) {
        first_of_others = std::min(first_of_others, glance.expires);
        continue;
      }
      if (!waiting) {
        items.push_back({queue_keys::place_in(cursor.key()), {}});
        continue;
      }
      auto record = TRY(decode_message(cursor.value()));
      items.push_back({std::nullopt, std::move(record.message.id)});
    }
    return cursor.status();
  }
};

/// Finds the message's present row: an expired message gets no other place, but it may have become ready where it is.
Result<std::optional<FoundMessage>> find_expired(QueueRows& rows, const Expired::Item& item) {
  if (!item.place) return read_message(rows.transaction(), rows.generation(), item.waiting_id);
  auto found = read_place(rows.transaction(), rows.generation(), Set::kTimed, *item.place);
  if (found && !*found) found = read_place(rows.transaction(), rows.generation(), Set::kReady, *item.place);
  return found;
}

Result<Upkeep::Item> upkeep_of(const kv::Reader& reader, std::pair<std::string, std::string> name,
                               const QueueRecord& record, Time age) {
  const auto figures = TRY(read_figures(reader, record.generation));
  const auto dead = reader.scan(queue_keys::idempotency_until(record.generation, age));
  TRY(dead->status());
  const bool expired = figures.messages() > 0 && std::min(figures.swept_expiry, figures.new_expiry) <= age;
  return Upkeep::Item{std::move(name.first), std::move(name.second), expired, dead->valid()};
}

}  // namespace

Task<Result<void>> QueueService::sweep(std::string account, std::string queue) {
  auto& shard = core_->of(account, queue);
  const auto age = shard.ages.now();
  const auto begin = [](QueueRows& rows) -> Result<void> {
    auto& figures = rows.figures();
    figures.swept_expiry = std::min(figures.swept_expiry, std::exchange(figures.new_expiry, kNeverExpires));
    return {};
  };
  CO_TRY(co_await change_queue(kSweepStep, account, queue, begin));
  // One snapshot for the whole walk: a message that changes its set meanwhile is not missed.
  const auto snapshot = shard.engine.snapshot();
  auto record = CO_TRY(require_queue(*snapshot, account, queue));
  const auto generation = record.generation;
  auto figures = CO_TRY(read_figures(*snapshot, generation));
  const std::array ranges{queue_keys::placed_from(generation, Set::kReady, figures.ready_front, Time::max()),
                          queue_keys::placed_from(generation, Set::kTimed, figures.timed_front, Time::max()),
                          queue_keys::all_waiting(generation, "")};
  Expired expired;
  const auto drop = [&](QueueRows& rows) -> Result<void> {
    if (rows.generation() != generation) return {};  // cleared meanwhile
    for (const auto& item : expired.items) {
      auto found = TRY(find_expired(rows, item));
      if (!found || found->record.message.expires > age) continue;
      TRY(rows.remove(*found));
      ++rows.figures().expired;
    }
    return {};
  };
  const auto executor = co_await asio::this_coro::executor;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const auto cursor = snapshot->scan_long(ranges[i]);
    while (cursor->valid() && !core_->stopping.load()) {
      const bool waiting = i + 1 == ranges.size();
      CO_TRY(expired.collect(*cursor, waiting, age));
      if (expired.items.empty()) {
        co_await asio::post(executor, asio::use_awaitable);  // requests go on between the turns of a long walk
        continue;
      }
      CO_TRY(co_await change_queue(kSweepStep, account, queue, drop));
      expired.items.clear();
    }
    CO_TRY(cursor->status());
  }
  if (core_->stopping.load()) co_return Result<void>{};
  co_return co_await change_queue(kSweepStep, account, queue, [&](QueueRows& rows) -> Result<void> {
    if (rows.generation() == generation) rows.figures().swept_expiry = expired.first_of_others;
    return {};
  });
}

Task<Result<void>> QueueService::drop_dead_keys(std::string account, std::string queue) {
  const auto age = core_->of(account, queue).ages.now();
  const auto drop_some = [age](QueueRows& rows) -> Result<std::size_t> {
    std::vector<std::string> dead;
    {
      const auto cursor = rows.transaction().scan(queue_keys::idempotency_until(rows.generation(), age));
      for (; cursor->valid() && dead.size() < kPerTransaction; cursor->next()) dead.emplace_back(cursor->key());
      TRY(cursor->status());
    }
    for (const auto& row : dead) {
      const auto key = queue_keys::aged_key(row);
      if (!key) return fail(ErrorCode::kCorruption);
      rows.transaction().erase(row);
      rows.transaction().erase(queue_keys::idempotency(rows.generation(), *key));
    }
    return dead.size();
  };
  while (CO_TRY(co_await change_queue(kDropKeysStep, account, queue, drop_some)) == kPerTransaction) {
  }
  co_return Result<void>{};
}

Result<Upkeep::Item> QueueService::due_of(const kv::Reader& reader, std::string_view key, std::string_view value,
                                          Time age) const {
  auto name = queue_keys::account_and_queue(key);
  if (!name) return fail(ErrorCode::kCorruption);
  const auto record = TRY(kQueueRecord.decode(value));
  const bool left_over = TRY(is_left_over(name->first, name->second, record));
  auto item = TRY(upkeep_of(reader, std::move(*name), record, age));
  if (left_over) item.left_over = record.incarnation;
  return item;
}

Result<Upkeep> QueueService::upkeep_due(Shard& shard, std::string& from) {
  Upkeep due;
  const auto age = shard.ages.now();
  const auto snapshot = shard.engine.snapshot();
  const auto cursor = snapshot->scan({std::exchange(from, ""), queue_keys::all_queues().upper});
  for (std::size_t n = 0; cursor->valid(); cursor->next()) {
    if (++n > kQueuesPerTurn) {
      from = cursor->key();
      break;
    }
    auto item = due_of(*snapshot, cursor->key(), cursor->value(), age);
    if (!item) {
      due.failed = std::move(item.error());
    } else if (item->sweep || item->keys || item->left_over) {
      due.items.push_back(std::move(*item));
    }
  }
  TRY(cursor->status());
  return due;
}

Task<Result<void>> QueueService::upkeep() {
  std::optional<Error> failed;  // of one shard; the others do not wait for it
  for (const auto& shard : core_->shards) {
    if (!core_->here(*shard)) continue;
    if (auto done = co_await tend(*shard); !done) failed = std::move(done.error());
  }
  if (failed) co_return fail(std::move(*failed));
  co_return co_await carry_on();
}

Task<Result<void>> QueueService::tend(Shard& shard) {
  const auto executor = co_await asio::this_coro::executor;
  std::optional<Error> failed;  // of one queue; the others do not wait for it
  if (auto forgotten = co_await forget_old_notes(shard); !forgotten) failed = std::move(forgotten.error());
  for (auto from = queue_keys::all_queues().lower; !from.empty() && !core_->stopping.load();) {
    auto due = CO_TRY(upkeep_due(shard, from));
    if (due.failed) failed = std::move(due.failed);
    for (const auto& item : due.items) {
      Result<void> done;
      if (item.left_over) {
        done = co_await drop_part(item.account, item.queue, *item.left_over);
      } else {
        if (item.sweep) done = co_await sweep(item.account, item.queue);
        if (done && item.keys) done = co_await drop_dead_keys(item.account, item.queue);
      }
      if (!done && done.error().code != ErrorCode::kQueueNotFound) failed = std::move(done.error());
    }
    co_await asio::post(executor, asio::use_awaitable);  // requests go on between the turns
  }
  if (failed) co_return fail(std::move(*failed));
  co_return Result<void>{};
}

Task<void> QueueService::keep_up(Duration interval) {
  const auto core = core_;
  auto next_round = core->clock.monotonic() + interval;
  while (!core->stopping.load()) {
    const auto ticket = core->shutdown.ticket();
    const auto left = std::max(next_round - core->clock.monotonic(), Duration::zero());
    const auto rest = core->stuck.load() ? std::min(kCarryAgain, left) : left;
    const bool woken = co_await core->shutdown.wait(ticket, core->clock, rest);
    if (core->stopping.load()) co_return;
    if (woken) continue;  // something could not be carried
    // The next round tries again.
    const bool is_time = core->clock.monotonic() >= next_round;
    const auto done = is_time ? co_await upkeep() : co_await carry_on();
    if (!done) process::log_failed_task("queue.upkeep", done.error());
    if (is_time) next_round = core->clock.monotonic() + interval;
  }
}

}  // namespace tidemark::queue_service
